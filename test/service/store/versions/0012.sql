CREATE TABLE orgs (
      id text primary key,
      name text not null unique,
      tier text not null,
      parallel_runs integer not null,
      runs_per_day integer not null,
      created_at integer not null
    , sequence integer not null default 0);
CREATE TABLE keys (
      id text primary key,
      org_id text not null references orgs (id),
      role text not null,
      hash text not null,
      is_machine integer not null,
      created_at integer not null,
      revoked_at integer
    , name text);
CREATE TABLE projects (
      org_id text not null references orgs (id),
      name text not null,
      root text not null,
      constraint projects_key primary key (org_id, name)
    );
CREATE TABLE runs (
      id text primary key,
      org_id text not null references orgs (id),
      project text not null,
      pipeline text not null,
      actor text not null,
      runner text not null,
      status text not null,
      day text not null,
      created_at integer not null,
      stopped_at integer,
      time_limit_seconds integer not null,
      reason text,
      idempotency_key text
    , files_removed_at integer, changed integer not null default 0, runner_pid integer, runner_birth text, agent text, asked_at integer, inputs text, outputs text, source text, git_commit text);
CREATE INDEX runs_of_day on runs (org_id, day);
CREATE INDEX runs_in_work on runs (org_id, id) where stopped_at is null;
CREATE UNIQUE INDEX runs_by_idempotency_key on runs (actor, idempotency_key);
CREATE TABLE steps (
      run_id text not null references runs (id) on delete cascade,
      position integer not null,
      name text not null,
      type text not null,
      status text not null,
      started_at integer,
      stopped_at integer,
      message text, attempts integer, cleanup integer,
      constraint steps_key primary key (run_id, position)
    );
CREATE TABLE artifacts (
      run_id text not null references runs on delete cascade,
      position integer not null,
      name text not null,
      file text not null,
      media_type text not null,
      bytes integer not null,
      created_at integer not null,
      primary key (run_id, file)
    );
CREATE TABLE sessions (
      hash text primary key,
      key_id text not null references keys on delete cascade,
      created_at integer not null,
      used_at integer not null
    );
CREATE TABLE waiters (
      ticket text primary key,
      org_id text not null references orgs,
      actor text not null,
      project text not null,
      pipeline text not null,
      time_limit_seconds integer not null,
      idempotency_key text,
      holder text not null,
      agent text,
      asked_at integer,
      inputs text
    );
CREATE INDEX keys_of_org on keys (org_id);
CREATE INDEX sessions_of_key on sessions (key_id);
CREATE INDEX waiters_of_org on waiters (org_id, ticket);
CREATE INDEX waiters_by_idempotency_key on waiters (actor, idempotency_key);
CREATE INDEX runs_not_stopped on runs (id) where stopped_at is null;
CREATE INDEX runs_by_change on runs (org_id, changed);
CREATE INDEX runs_of_org on runs (org_id, id);
CREATE INDEX runs_of_pipeline on runs (org_id, pipeline, id);
CREATE INDEX runs_of_status on runs (org_id, status, id);
CREATE INDEX runs_of_actor on runs (org_id, actor, id);
CREATE INDEX runs_of_project on runs (org_id, project, id);
CREATE INDEX runs_with_files on runs (stopped_at, id) where files_removed_at is null and stopped_at is not null;
insert into "orgs" values ('org_01jnf2q0000000000000000000', 'This machine', 'free', 1, 50, 1772352000000, 41);
insert into "orgs" values ('org_01jnf2q0000000000000000001', 'Acme & Söhne''s', 'team', 2, 200, 1772352000001, 0);
insert into "keys" values ('key_01jnf2q0000000000000000000', 'org_01jnf2q0000000000000000000', 'owner', '6c0ea4d7bd22a673e1e1fdb623df2ed2714f8ad11722c2861cc4d93b3bcecec5', 1, 1772352000000, null, null);
insert into "keys" values ('key_01jnf2q0000000000000000001', 'org_01jnf2q0000000000000000000', 'member', '2f06fb1732d8a07f8d94c182715e3cbb67add43878b6368001cb5e774eeb71ea', 0, 1772352000001, null, 'Ada''s laptop');
insert into "keys" values ('key_01jnf2q0000000000000000002', 'org_01jnf2q0000000000000000000', 'viewer', '6220a19047c9df643ae369605d2c2e75040c1d28ca86ab429ef064942da9114f', 0, 1772352000002, 1772352000099, null);
insert into "keys" values ('key_01jnf2q0000000000000000003', 'org_01jnf2q0000000000000000001', 'member', 'dc704241c3b53d95bd9aa03518c78370f1a8d1cd5f15c0af07053b7f1a9a2e33', 0, 1772352000003, null, null);
insert into "projects" values ('org_01jnf2q0000000000000000000', 'shop', '/home/ada/shop');
insert into "projects" values ('org_01jnf2q0000000000000000000', 'shop-2', '/home/ada/other/shop');
insert into "projects" values ('org_01jnf2q0000000000000000001', 'büro', 'C:\Users\Ada\büro');
insert into "runs" values ('run_01jnf2q0000000000000000100', 'org_01jnf2q0000000000000000000', 'shop', 'nightly', 'key_01jnf2q0000000000000000000', 'embedded@ada', 'succeeded', '2026-03-03', 1772582398000, 1772582405000, 30, null, 'wish-0', null, 0, null, null, null, null, null, null, null, null);
insert into "runs" values ('run_01jnf2q0000000000000000101', 'org_01jnf2q0000000000000000000', 'shop', 'nightly', 'key_01jnf2q0000000000000000000', 'embedded@ada', 'failed', '2026-03-04', 1772614800000, 1772614802000, 30, 'only: it''s ''quoted''', 'wish-1', null, 0, null, null, 'some-agent', 1772614795000, '{"region":["eu","given"],"lamps":[2,"default"]}', '{"order":7}', '{"path":"pipelines/nightly.yaml","texts":{"pipelines/nightly.yaml":"steps: []"}}', '{"id":"0123456789abcdef0123456789abcdef01234567","branch":"main","changed":true}');
insert into "runs" values ('run_01jnf2q0000000000000000102', 'org_01jnf2q0000000000000000000', 'shop', 'nightly', 'key_01jnf2q0000000000000000001', 'embedded@ada', 'cancelled', '2026-03-04', 1772615400000, 1772615402000, 30, 'cancelled by key_01jnf2q0000000000000000000', null, null, 0, null, null, null, null, null, null, null, null);
insert into "runs" values ('run_01jnf2q0000000000000000103', 'org_01jnf2q0000000000000000000', 'shop', 'nightly', 'key_01jnf2q0000000000000000001', 'embedded@ada', 'timed-out', '2026-03-04', 1772616000000, 1772616030000, 30, 'reached its time limit of 30 s', null, null, 0, null, null, null, null, null, null, null, null);
insert into "runs" values ('run_01jnf2q0000000000000000104', 'org_01jnf2q0000000000000000000', 'shop', 'nightly', 'key_01jnf2q0000000000000000001', 'embedded@ada', 'lost', '2026-03-04', 1772616600000, 1772616660000, 30, 'the service died while it ran', 'wish-2', null, 0, null, null, null, null, null, null, null, null);
insert into "runs" values ('run_01jnf2q0000000000000000105', 'org_01jnf2q0000000000000000000', 'shop', 'nightly', 'key_01jnf2q0000000000000000001', 'embedded@ada', 'running', '2026-03-04', 1772625590000, null, 30, null, 'wish-3', null, 41, 4242, '1772625589:88', null, null, null, null, null, null);
insert into "runs" values ('run_01jnf2q0000000000000000106', 'org_01jnf2q0000000000000000001', 'büro', 'nightly', 'key_01jnf2q0000000000000000003', 'embedded@ada', 'running', '2026-03-04', 1772622000000, null, 30, null, null, null, 0, null, null, null, null, null, null, null, null);
insert into "runs" values ('run_01jnf2q0000000000000000107', 'org_01jnf2q0000000000000000001', 'büro', 'nightly', 'key_01jnf2q0000000000000000003', 'embedded@ada', 'cancelling', '2026-03-04', 1772623800000, null, 30, null, null, null, 0, null, null, null, null, null, null, null, null);
insert into "steps" values ('run_01jnf2q0000000000000000100', 0, 'step 0', 'cli', 'succeeded', 1772582398500, 1772582405000, null, null, null);
insert into "steps" values ('run_01jnf2q0000000000000000101', 0, 'step 0', 'cli', 'succeeded', 1772614800100, 1772614801000, null, null, null);
insert into "steps" values ('run_01jnf2q0000000000000000101', 1, 'step 1', 'http', 'failed', 1772614801000, 1772614802000, 'expected status 200, got 503', 3, 1);
insert into "steps" values ('run_01jnf2q0000000000000000105', 0, 'step 0', 'cli', 'succeeded', 1772625590100, 1772625591000, null, null, null);
insert into "steps" values ('run_01jnf2q0000000000000000105', 1, 'step 1', 'http', 'running', 1772625591000, null, null, null, null);
insert into "artifacts" values ('run_01jnf2q0000000000000000101', 1, 'failure', '2-failure.png', 'image/png', 20480, 1772614802000);
insert into "sessions" values ('4c1bd2f0a7e94d3f8b6a5c20917e3d4f6b8a9c0d1e2f30415263748596a7b8c9', 'key_01jnf2q0000000000000000000', 1772600000000, 1772624000000);
insert into "waiters" values ('ticket_01jnf2q0000000000000000200', 'org_01jnf2q0000000000000000000', 'key_01jnf2q0000000000000000001', 'shop', 'nightly', 30, 'wish-4', 'instance-before', 'some-agent', 1772625591500, '{"region":["eu","given"]}');
pragma user_version = 12;
