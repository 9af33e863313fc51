@echo off
rem The command `pipeline` in the editor's terminals; bin/pipeline says how.
setlocal
if not defined PIPELINE_EDITOR_RUNTIME goto other
if not exist "%PIPELINE_EDITOR_RUNTIME%" goto other
set ELECTRON_RUN_AS_NODE=1
"%PIPELINE_EDITOR_RUNTIME%" -- "%~dp0..\dist\cli.js" %*
exit /b %errorlevel%
:other
node -- "%~dp0..\dist\cli.js" %*
exit /b %errorlevel%
