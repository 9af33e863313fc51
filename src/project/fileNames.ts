/**
 * The names of pipeline files in a project's `pipelines/`. As of a shell's `*.yaml` no hidden ones: on a share, macOS keeps a
 * `._build.yaml` beside a file, and Emacs locks one by a link, `.#build.yaml`.
 */
export const pipelineFileName = /^[^.].*\.yaml$/s;
