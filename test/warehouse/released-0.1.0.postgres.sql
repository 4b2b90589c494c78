-- The schema of a warehouse of 0.1.0, as pg_dump writes it.
CREATE FUNCTION warehouse.writeback_events_kept() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$begin raise exception 'the log of write-backs is only ever added to' using errcode = 'check_violation'; end$$;
CREATE FUNCTION warehouse.writebacks_arrived() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$begin raise exception 'a write-back that has arrived stays so' using errcode = 'check_violation'; end$$;
CREATE FUNCTION warehouse.writebacks_begin() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$declare inserter text; begin if new.status not in ('draft','queued') then
      raise exception 'a write-back begins as queued or as draft' using errcode = 'check_violation'; end if;
    inserter := pg_catalog.current_setting('role');
    if inserter = 'none' then inserter := session_user; end if;
    if not pg_catalog.has_any_column_privilege(inserter::pg_catalog.name, tg_relid, 'update') then
      new.created_by := pg_catalog.concat(new.created_by || ' via ', inserter); end if;
    new.attempts := 0; new.epoch := 0; new.owner := null; new.lease_until := null; new.sent_at := null; new.finished_at := null; new.request_id := null; new.error := null; new.evidence := null; new.message_id := null;
    new.seq := pg_catalog.nextval('warehouse.writebacks_seq'::pg_catalog.regclass); new.ref := coalesce(new.ref, new.id);
    new.lane := case when new.operation in ('message','handled')
  then 'conversation/' || pg_catalog.lower(new.conversation_id) else 'visitor/' || pg_catalog.lower(new.visitor_id) end; new.seen := case when new.operation in ('message','handled')
    then (select pg_catalog.jsonb_build_object('last_message_at', pg_catalog.to_char(mirrored.last_message_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) from
    (select case when new.project_id <> '' then new.project_id
      else (select project_id from warehouse.conversations order by project_id, id limit 1) end) own (project)
    cross join lateral (select * from warehouse.conversations where (project_id, id) >= (own.project, new.conversation_id)
      order by project_id, id limit 1) mirrored
    where mirrored.project_id = own.project and mirrored.id = new.conversation_id and mirrored.deleted_at is null)
    else (select pg_catalog.jsonb_build_object('name', mirrored.name, 'email', mirrored.email) from
    (select case when new.project_id <> '' then new.project_id
      else (select project_id from warehouse.visitors order by project_id, id limit 1) end) own (project)
    cross join lateral (select * from warehouse.visitors where (project_id, id) >= (own.project, new.visitor_id)
      order by project_id, id limit 1) mirrored
    where mirrored.project_id = own.project and mirrored.id = new.visitor_id and mirrored.deleted_at is null) end; return new; end$$;
CREATE FUNCTION warehouse.writebacks_begun() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$begin insert into warehouse.writeback_events (project_id, writeback_id, from_status, to_status, detail)
        values (new.project_id, new.id, null, new.status, new.step); return null; end$$;
CREATE FUNCTION warehouse.writebacks_changed() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$begin new.lane := case when new.operation in ('message','handled')
  then 'conversation/' || pg_catalog.lower(new.conversation_id) else 'visitor/' || pg_catalog.lower(new.visitor_id) end; new.epoch := old.epoch + 1; return new; end$$;
CREATE FUNCTION warehouse.writebacks_named() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$begin new.seen := case when new.operation in ('message','handled')
    then (select pg_catalog.jsonb_build_object('last_message_at', pg_catalog.to_char(mirrored.last_message_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) from
    (select case when new.project_id <> '' then new.project_id
      else (select project_id from warehouse.conversations order by project_id, id limit 1) end) own (project)
    cross join lateral (select * from warehouse.conversations where (project_id, id) >= (own.project, new.conversation_id)
      order by project_id, id limit 1) mirrored
    where mirrored.project_id = own.project and mirrored.id = new.conversation_id and mirrored.deleted_at is null)
    else (select pg_catalog.jsonb_build_object('name', mirrored.name, 'email', mirrored.email) from
    (select case when new.project_id <> '' then new.project_id
      else (select project_id from warehouse.visitors order by project_id, id limit 1) end) own (project)
    cross join lateral (select * from warehouse.visitors where (project_id, id) >= (own.project, new.visitor_id)
      order by project_id, id limit 1) mirrored
    where mirrored.project_id = own.project and mirrored.id = new.visitor_id and mirrored.deleted_at is null) end; return new; end$$;
CREATE FUNCTION warehouse.writebacks_revoked() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$begin if new.step is not distinct from old.step then
      new.step := pg_catalog.concat(new.status, ' while it was on its way'); end if;
    new.revoked_as := new.status; new.status := old.status; new.finished_at := null; new.error := null;
    new.owner := old.owner; new.lease_until := old.lease_until; new.due_at := old.due_at; return new; end$$;
CREATE FUNCTION warehouse.writebacks_stepped() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$begin insert into warehouse.writeback_events (project_id, writeback_id, from_status, to_status, detail, request_id)
        values (new.project_id, new.id, old.status, new.status, new.step, new.request_id); return null; end$$;
CREATE TABLE warehouse.analytics_metrics (
    project_id text NOT NULL COLLATE pg_catalog."C",
    window_from timestamp with time zone NOT NULL,
    window_to timestamp with time zone NOT NULL,
    metric text NOT NULL COLLATE pg_catalog."C",
    value double precision NOT NULL,
    day date,
    time_zone text
);
CREATE TABLE warehouse.analytics_rollups (
    project_id text NOT NULL COLLATE pg_catalog."C",
    raw jsonb NOT NULL,
    synced_at timestamp with time zone NOT NULL,
    run_id text,
    asked_at bigint NOT NULL,
    window_from timestamp with time zone NOT NULL,
    window_to timestamp with time zone NOT NULL,
    read_at timestamp with time zone,
    day date,
    time_zone text
);
CREATE TABLE warehouse.availability_snapshots (
    project_id text NOT NULL COLLATE pg_catalog."C",
    raw jsonb NOT NULL,
    synced_at timestamp with time zone NOT NULL,
    run_id text,
    asked_at bigint NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    available boolean,
    agents_online bigint
);
CREATE TABLE warehouse.call_recordings (
    project_id text NOT NULL COLLATE pg_catalog."C",
    raw jsonb NOT NULL,
    synced_at timestamp with time zone NOT NULL,
    run_id text,
    asked_at bigint NOT NULL,
    deleted_at timestamp with time zone,
    call_id text NOT NULL COLLATE pg_catalog."C",
    has_recording boolean,
    checked_at timestamp with time zone
);
CREATE TABLE warehouse.calls (
    project_id text NOT NULL COLLATE pg_catalog."C",
    raw jsonb NOT NULL,
    synced_at timestamp with time zone NOT NULL,
    run_id text,
    asked_at bigint NOT NULL,
    deleted_at timestamp with time zone,
    id text NOT NULL COLLATE pg_catalog."C",
    occurred_at timestamp with time zone
);
CREATE TABLE warehouse.conversation_changes (
    project_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    conversation_id text NOT NULL COLLATE pg_catalog."C",
    field text NOT NULL,
    old_value text,
    new_value text,
    seen_at timestamp with time zone NOT NULL
);
CREATE TABLE warehouse.conversations (
    project_id text NOT NULL COLLATE pg_catalog."C",
    raw jsonb NOT NULL,
    synced_at timestamp with time zone NOT NULL,
    run_id text,
    asked_at bigint NOT NULL,
    deleted_at timestamp with time zone,
    id text NOT NULL COLLATE pg_catalog."C",
    visitor_id text,
    status text,
    created_at timestamp with time zone,
    last_message_at timestamp with time zone,
    last_message_sender_type text,
    handled_at timestamp with time zone,
    waiting_since timestamp with time zone,
    assigned_agent_id text,
    origin text,
    messages_complete boolean
);
CREATE TABLE warehouse.discovered_fields (
    project_id text NOT NULL COLLATE pg_catalog."C",
    stream text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    column_name text,
    type text NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    fill_after text
);
CREATE TABLE warehouse.messages (
    project_id text NOT NULL COLLATE pg_catalog."C",
    raw jsonb NOT NULL,
    synced_at timestamp with time zone NOT NULL,
    run_id text,
    asked_at bigint NOT NULL,
    deleted_at timestamp with time zone,
    conversation_id text NOT NULL COLLATE pg_catalog."C",
    id bigint NOT NULL,
    sender_type text,
    kind text,
    content text,
    sender_display_name text,
    created_at timestamp with time zone
);
CREATE TABLE warehouse.service_behaviours (
    project_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    evidence text NOT NULL,
    learned_at timestamp with time zone NOT NULL
);
CREATE TABLE warehouse.sync_budgets (
    name text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    state text NOT NULL
);
CREATE TABLE warehouse.sync_census (
    project_id text NOT NULL COLLATE pg_catalog."C",
    census text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE warehouse.sync_children (
    project_id text NOT NULL COLLATE pg_catalog."C",
    stream text NOT NULL COLLATE pg_catalog."C",
    parent_id text NOT NULL COLLATE pg_catalog."C",
    wanted bigint NOT NULL,
    fetched bigint NOT NULL,
    due_at bigint,
    attempts bigint NOT NULL,
    "position" text,
    checked_at bigint,
    error text,
    whole bigint
);
CREATE TABLE warehouse.sync_cursors (
    project_id text NOT NULL COLLATE pg_catalog."C",
    stream text NOT NULL COLLATE pg_catalog."C",
    "position" text NOT NULL
);
CREATE TABLE warehouse.sync_failures (
    project_id text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    failures bigint NOT NULL,
    reason text NOT NULL
);
CREATE TABLE warehouse.sync_gaps (
    project_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    stream text NOT NULL,
    from_ts timestamp with time zone,
    to_ts timestamp with time zone,
    reason text NOT NULL,
    found_at timestamp with time zone NOT NULL,
    resolved_at timestamp with time zone,
    subject text NOT NULL COLLATE pg_catalog."C",
    seen_at bigint
);
CREATE TABLE warehouse.sync_keys (
    name text NOT NULL COLLATE pg_catalog."C",
    used_at bigint NOT NULL
);
CREATE TABLE warehouse.sync_locks (
    project_id text NOT NULL COLLATE pg_catalog."C",
    stream text NOT NULL COLLATE pg_catalog."C",
    token text NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    process text NOT NULL,
    since timestamp with time zone NOT NULL,
    beat_at bigint NOT NULL
);
CREATE TABLE warehouse.sync_projects (
    project_id text NOT NULL COLLATE pg_catalog."C",
    paused_until bigint,
    paused_key text,
    paused_why text,
    budget_lost_at bigint,
    budget_lost_why text
);
CREATE TABLE warehouse.sync_requests (
    project_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    purpose text NOT NULL,
    beat_at bigint NOT NULL,
    request_log jsonb NOT NULL
);
CREATE TABLE warehouse.sync_runs (
    project_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    mode text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    outcome text,
    requests bigint NOT NULL,
    rows_read bigint NOT NULL,
    rows_changed bigint NOT NULL,
    streams jsonb,
    strings_escaped bigint NOT NULL,
    beat_at bigint NOT NULL,
    request_log jsonb,
    holder text
);
CREATE TABLE warehouse.sync_schema (
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE warehouse.sync_streams (
    project_id text NOT NULL COLLATE pg_catalog."C",
    stream text NOT NULL COLLATE pg_catalog."C",
    synced_at timestamp with time zone,
    skipped text,
    failed text,
    failed_since timestamp with time zone
);
CREATE TABLE warehouse.sync_workers (
    id text NOT NULL COLLATE pg_catalog."C",
    host text NOT NULL,
    pid bigint NOT NULL,
    process text NOT NULL,
    queue text NOT NULL,
    since timestamp with time zone NOT NULL,
    beat_at bigint NOT NULL
);
CREATE TABLE warehouse.visitor_activity (
    project_id text NOT NULL COLLATE pg_catalog."C",
    raw jsonb NOT NULL,
    synced_at timestamp with time zone NOT NULL,
    run_id text,
    asked_at bigint NOT NULL,
    deleted_at timestamp with time zone,
    visitor_id text NOT NULL COLLATE pg_catalog."C",
    entry_hash text NOT NULL COLLATE pg_catalog."C",
    ordinal bigint NOT NULL,
    occurred_at timestamp with time zone
);
CREATE TABLE warehouse.visitors (
    project_id text NOT NULL COLLATE pg_catalog."C",
    raw jsonb NOT NULL,
    synced_at timestamp with time zone NOT NULL,
    run_id text,
    asked_at bigint NOT NULL,
    deleted_at timestamp with time zone,
    id text NOT NULL COLLATE pg_catalog."C",
    name text,
    email text
);
CREATE TABLE warehouse.webhook_deliveries (
    project_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    bytes bigint NOT NULL,
    body text NOT NULL,
    due_at bigint,
    attempts bigint NOT NULL,
    taken_at timestamp with time zone,
    found text
);
CREATE TABLE warehouse.writeback_cancellations (
    project_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    batch_id text,
    nameless bigint NOT NULL,
    up_to bigint NOT NULL,
    done_to bigint NOT NULL,
    cancelled_at timestamp with time zone NOT NULL,
    cancelled_by text NOT NULL,
    finished_at timestamp with time zone
);
CREATE TABLE warehouse.writeback_events (
    project_id text NOT NULL COLLATE pg_catalog."C",
    id text DEFAULT (gen_random_uuid())::text NOT NULL COLLATE pg_catalog."C",
    writeback_id text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone DEFAULT now() NOT NULL,
    from_status text,
    to_status text NOT NULL,
    detail text,
    request_id text,
    seq bigint NOT NULL,
    CONSTRAINT writeback_events_to_status_check CHECK ((to_status = ANY (ARRAY['draft'::text, 'queued'::text, 'sending'::text, 'succeeded'::text, 'failed'::text, 'conflict'::text, 'uncertain'::text, 'cancelled'::text, 'expired'::text])))
);
CREATE SEQUENCE warehouse.writeback_events_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE warehouse.writeback_events_seq OWNED BY warehouse.writeback_events.seq;
CREATE TABLE warehouse.writebacks (
    project_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    id text DEFAULT (gen_random_uuid())::text NOT NULL COLLATE pg_catalog."C",
    operation text NOT NULL,
    conversation_id text,
    visitor_id text,
    payload jsonb NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    batch_id text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text,
    sent_at timestamp with time zone,
    finished_at timestamp with time zone,
    request_id text,
    error text,
    evidence jsonb,
    ref text,
    expect text,
    expires_at timestamp with time zone,
    step text,
    message_id text,
    seen jsonb,
    seq bigint DEFAULT 0 NOT NULL,
    lane text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    epoch bigint DEFAULT 0 NOT NULL,
    owner text,
    lease_until bigint,
    due_at bigint,
    revoked_as text,
    CONSTRAINT handled_needs_true_or_false CHECK ((((operation <> 'handled'::text) OR ((jsonb_typeof((payload -> 'handled'::text)) = 'boolean'::text) AND ((payload - ARRAY['handled'::text]) = '{}'::jsonb))) IS TRUE)),
    CONSTRAINT message_and_handled_need_conversation_id CHECK ((((operation <> ALL (ARRAY['message'::text, 'handled'::text])) OR (conversation_id ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text)) IS TRUE)),
    CONSTRAINT message_needs_content_and_sender_name CHECK ((((operation <> 'message'::text) OR ((jsonb_typeof((payload -> 'content'::text)) = 'string'::text) AND (length((payload ->> 'content'::text)) <= 20000) AND (btrim((payload ->> 'content'::text), ' 	
'::text) <> ''::text) AND (jsonb_typeof((payload -> 'sender_name'::text)) = 'string'::text) AND (length((payload ->> 'sender_name'::text)) <= 300) AND (btrim((payload ->> 'sender_name'::text), ' 	
'::text) <> ''::text) AND ((payload - ARRAY['content'::text, 'sender_name'::text]) = '{}'::jsonb))) IS TRUE)),
    CONSTRAINT note_needs_content CHECK ((((operation <> 'note'::text) OR ((jsonb_typeof((payload -> 'content'::text)) = 'string'::text) AND (length((payload ->> 'content'::text)) <= 20000) AND (btrim((payload ->> 'content'::text), ' 	
'::text) <> ''::text) AND ((payload - ARRAY['content'::text]) = '{}'::jsonb))) IS TRUE)),
    CONSTRAINT visitor_and_note_need_visitor_id CHECK ((((operation <> ALL (ARRAY['visitor'::text, 'note'::text])) OR (visitor_id ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text)) IS TRUE)),
    CONSTRAINT visitor_needs_name_or_email CHECK ((((operation <> 'visitor'::text) OR (((jsonb_typeof((payload -> 'name'::text)) IS NOT NULL) OR (jsonb_typeof((payload -> 'email'::text)) IS NOT NULL)) AND ((jsonb_typeof((payload -> 'name'::text)) IS NULL) OR (jsonb_typeof((payload -> 'name'::text)) = 'null'::text) OR ((jsonb_typeof((payload -> 'name'::text)) = 'string'::text) AND (length((payload ->> 'name'::text)) <= 300) AND (btrim((payload ->> 'name'::text), ' 	
'::text) <> ''::text))) AND ((jsonb_typeof((payload -> 'email'::text)) IS NULL) OR (jsonb_typeof((payload -> 'email'::text)) = 'null'::text) OR ((jsonb_typeof((payload -> 'email'::text)) = 'string'::text) AND (length((payload ->> 'email'::text)) <= 320) AND (btrim((payload ->> 'email'::text), ' 	
'::text) <> ''::text))) AND ((payload - ARRAY['name'::text, 'email'::text]) = '{}'::jsonb))) IS TRUE)),
    CONSTRAINT writebacks_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT writebacks_check CHECK (
CASE
    WHEN (operation = ANY (ARRAY['message'::text, 'handled'::text])) THEN (conversation_id IS NOT NULL)
    ELSE (visitor_id IS NOT NULL)
END),
    CONSTRAINT writebacks_operation_check CHECK ((operation = ANY (ARRAY['message'::text, 'handled'::text, 'visitor'::text, 'note'::text]))),
    CONSTRAINT writebacks_payload_check CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT writebacks_revoked_as_check CHECK ((revoked_as = ANY (ARRAY['cancelled'::text, 'expired'::text]))),
    CONSTRAINT writebacks_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'queued'::text, 'sending'::text, 'succeeded'::text, 'failed'::text, 'conflict'::text, 'uncertain'::text, 'cancelled'::text, 'expired'::text])))
);
CREATE SEQUENCE warehouse.writebacks_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE warehouse.writebacks_seq OWNED BY warehouse.writebacks.seq;
ALTER TABLE ONLY warehouse.writeback_events ALTER COLUMN seq SET DEFAULT nextval('warehouse.writeback_events_seq'::regclass);
ALTER TABLE ONLY warehouse.analytics_metrics
    ADD CONSTRAINT analytics_metrics_pkey PRIMARY KEY (project_id, window_from, window_to, metric);
ALTER TABLE ONLY warehouse.analytics_rollups
    ADD CONSTRAINT analytics_rollups_pkey PRIMARY KEY (project_id, window_from, window_to);
ALTER TABLE ONLY warehouse.availability_snapshots
    ADD CONSTRAINT availability_snapshots_pkey PRIMARY KEY (project_id, taken_at);
ALTER TABLE ONLY warehouse.call_recordings
    ADD CONSTRAINT call_recordings_pkey PRIMARY KEY (project_id, call_id);
ALTER TABLE ONLY warehouse.calls
    ADD CONSTRAINT calls_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY warehouse.conversation_changes
    ADD CONSTRAINT conversation_changes_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY warehouse.conversations
    ADD CONSTRAINT conversations_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY warehouse.discovered_fields
    ADD CONSTRAINT discovered_fields_pkey PRIMARY KEY (project_id, stream, path);
ALTER TABLE ONLY warehouse.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (project_id, conversation_id, id);
ALTER TABLE ONLY warehouse.service_behaviours
    ADD CONSTRAINT service_behaviours_pkey PRIMARY KEY (project_id, name);
ALTER TABLE ONLY warehouse.sync_budgets
    ADD CONSTRAINT sync_budgets_pkey PRIMARY KEY (name);
ALTER TABLE ONLY warehouse.sync_census
    ADD CONSTRAINT sync_census_pkey PRIMARY KEY (project_id, census, id);
ALTER TABLE ONLY warehouse.sync_children
    ADD CONSTRAINT sync_children_pkey PRIMARY KEY (project_id, stream, parent_id);
ALTER TABLE ONLY warehouse.sync_cursors
    ADD CONSTRAINT sync_cursors_pkey PRIMARY KEY (project_id, stream);
ALTER TABLE ONLY warehouse.sync_failures
    ADD CONSTRAINT sync_failures_pkey PRIMARY KEY (project_id, job, subject);
ALTER TABLE ONLY warehouse.sync_gaps
    ADD CONSTRAINT sync_gaps_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY warehouse.sync_keys
    ADD CONSTRAINT sync_keys_pkey PRIMARY KEY (name);
ALTER TABLE ONLY warehouse.sync_locks
    ADD CONSTRAINT sync_locks_pkey PRIMARY KEY (project_id, stream);
ALTER TABLE ONLY warehouse.sync_projects
    ADD CONSTRAINT sync_projects_pkey PRIMARY KEY (project_id);
ALTER TABLE ONLY warehouse.sync_requests
    ADD CONSTRAINT sync_requests_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY warehouse.sync_runs
    ADD CONSTRAINT sync_runs_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY warehouse.sync_schema
    ADD CONSTRAINT sync_schema_pkey PRIMARY KEY (name);
ALTER TABLE ONLY warehouse.sync_streams
    ADD CONSTRAINT sync_streams_pkey PRIMARY KEY (project_id, stream);
ALTER TABLE ONLY warehouse.sync_workers
    ADD CONSTRAINT sync_workers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY warehouse.visitor_activity
    ADD CONSTRAINT visitor_activity_pkey PRIMARY KEY (project_id, visitor_id, entry_hash, ordinal);
ALTER TABLE ONLY warehouse.visitors
    ADD CONSTRAINT visitors_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY warehouse.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY warehouse.writeback_cancellations
    ADD CONSTRAINT writeback_cancellations_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY warehouse.writeback_events
    ADD CONSTRAINT writeback_events_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY warehouse.writebacks
    ADD CONSTRAINT writebacks_pkey PRIMARY KEY (project_id, id);
CREATE INDEX activity_by_time ON warehouse.visitor_activity USING btree (project_id, occurred_at);
CREATE INDEX activity_deleted ON warehouse.visitor_activity USING btree (project_id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX calls_by_time ON warehouse.calls USING btree (project_id, occurred_at);
CREATE INDEX calls_deleted ON warehouse.calls USING btree (project_id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX cancellations_open ON warehouse.writeback_cancellations USING btree (project_id) WHERE (finished_at IS NULL);
CREATE INDEX changes_by_conversation ON warehouse.conversation_changes USING btree (project_id, conversation_id);
CREATE INDEX changes_of_handled ON warehouse.conversation_changes USING btree (project_id, conversation_id) WHERE (field = 'handled_at'::text);
CREATE INDEX children_to_proofread ON warehouse.sync_children USING btree (project_id, stream, due_at) WHERE ((due_at IS NOT NULL) AND (fetched > 0) AND (whole IS NOT NULL));
CREATE INDEX children_to_read ON warehouse.sync_children USING btree (project_id, stream, due_at) WHERE ((due_at IS NOT NULL) AND (fetched = 0));
CREATE INDEX children_to_refresh ON warehouse.sync_children USING btree (project_id, stream, due_at) WHERE ((due_at IS NOT NULL) AND (fetched > 0) AND (whole IS NULL));
CREATE INDEX conversations_by_start ON warehouse.conversations USING btree (project_id, created_at);
CREATE INDEX conversations_by_visitor ON warehouse.conversations USING btree (project_id, visitor_id);
CREATE INDEX conversations_deleted ON warehouse.conversations USING btree (project_id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX conversations_open ON warehouse.conversations USING btree (project_id, last_message_at) WHERE (handled_at IS NULL);
CREATE INDEX deliveries_by_age ON warehouse.webhook_deliveries USING btree (received_at);
CREATE INDEX deliveries_due ON warehouse.webhook_deliveries USING btree (project_id, due_at) WHERE (due_at IS NOT NULL);
CREATE UNIQUE INDEX events_by_order ON warehouse.writeback_events USING btree (seq);
CREATE INDEX events_by_writeback ON warehouse.writeback_events USING btree (project_id, writeback_id, seq);
CREATE UNIQUE INDEX gaps_open ON warehouse.sync_gaps USING btree (project_id, stream, subject) WHERE (resolved_at IS NULL);
CREATE INDEX messages_by_time ON warehouse.messages USING btree (project_id, created_at);
CREATE INDEX messages_deleted ON warehouse.messages USING btree (project_id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX metrics_by_name ON warehouse.analytics_metrics USING btree (metric, project_id, window_from);
CREATE INDEX recordings_deleted ON warehouse.call_recordings USING btree (project_id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX runs_by_beat ON warehouse.sync_runs USING btree (project_id, beat_at);
CREATE INDEX runs_unfinished ON warehouse.sync_runs USING btree (project_id) WHERE (finished_at IS NULL);
CREATE INDEX visitors_deleted ON warehouse.visitors USING btree (project_id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX writebacks_by_batch ON warehouse.writebacks USING btree (project_id, batch_id, seq) WHERE (batch_id IS NOT NULL);
CREATE INDEX writebacks_by_fate ON warehouse.writebacks USING btree (project_id, finished_at) WHERE ((finished_at IS NOT NULL) AND (operation = ANY (ARRAY['message'::text, 'note'::text])) AND (status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'uncertain'::text])));
CREATE INDEX writebacks_by_lane ON warehouse.writebacks USING btree (project_id, lane, seq);
CREATE UNIQUE INDEX writebacks_by_message ON warehouse.writebacks USING btree (project_id, lane, message_id) WHERE (message_id IS NOT NULL);
CREATE UNIQUE INDEX writebacks_by_order ON warehouse.writebacks USING btree (seq);
CREATE UNIQUE INDEX writebacks_by_ref ON warehouse.writebacks USING btree (project_id, ref) WHERE (ref IS NOT NULL);
CREATE INDEX writebacks_by_status ON warehouse.writebacks USING btree (project_id, status, created_at);
CREATE INDEX writebacks_in_lane ON warehouse.writebacks USING btree (project_id, lane, seq) WHERE (status = ANY (ARRAY['queued'::text, 'sending'::text, 'uncertain'::text]));
CREATE INDEX writebacks_owned ON warehouse.writebacks USING btree (project_id, owner) WHERE (owner IS NOT NULL);
CREATE INDEX writebacks_to_do ON warehouse.writebacks USING btree (project_id, seq) WHERE (status = ANY (ARRAY['queued'::text, 'sending'::text]));
CREATE TRIGGER events_kept BEFORE UPDATE ON warehouse.writeback_events FOR EACH ROW WHEN ((old.project_id <> ''::text)) EXECUTE FUNCTION warehouse.writeback_events_kept();
CREATE TRIGGER events_never_deleted BEFORE DELETE ON warehouse.writeback_events FOR EACH ROW EXECUTE FUNCTION warehouse.writeback_events_kept();
CREATE TRIGGER events_never_emptied BEFORE TRUNCATE ON warehouse.writeback_events FOR EACH STATEMENT EXECUTE FUNCTION warehouse.writeback_events_kept();
CREATE TRIGGER writebacks_arrived BEFORE UPDATE OF status ON warehouse.writebacks FOR EACH ROW WHEN (((old.status = 'succeeded'::text) AND (new.status <> 'succeeded'::text))) EXECUTE FUNCTION warehouse.writebacks_arrived();
CREATE TRIGGER writebacks_begin BEFORE INSERT ON warehouse.writebacks FOR EACH ROW EXECUTE FUNCTION warehouse.writebacks_begin();
CREATE TRIGGER writebacks_begun AFTER INSERT ON warehouse.writebacks FOR EACH ROW EXECUTE FUNCTION warehouse.writebacks_begun();
CREATE TRIGGER writebacks_changed BEFORE UPDATE OF operation, conversation_id, visitor_id, payload ON warehouse.writebacks FOR EACH ROW WHEN (((new.operation IS DISTINCT FROM old.operation) OR (new.conversation_id IS DISTINCT FROM old.conversation_id) OR (new.visitor_id IS DISTINCT FROM old.visitor_id) OR (new.payload IS DISTINCT FROM old.payload))) EXECUTE FUNCTION warehouse.writebacks_changed();
CREATE TRIGGER writebacks_named BEFORE UPDATE OF project_id ON warehouse.writebacks FOR EACH ROW WHEN (((old.project_id = ''::text) AND (new.seen IS NULL))) EXECUTE FUNCTION warehouse.writebacks_named();
CREATE TRIGGER writebacks_revoked BEFORE UPDATE OF status ON warehouse.writebacks FOR EACH ROW WHEN (((old.status = 'sending'::text) AND (new.status = ANY (ARRAY['cancelled'::text, 'expired'::text])) AND (old.revoked_as IS NULL))) EXECUTE FUNCTION warehouse.writebacks_revoked();
CREATE TRIGGER writebacks_stepped AFTER UPDATE OF status, step ON warehouse.writebacks FOR EACH ROW WHEN (((new.status IS DISTINCT FROM old.status) OR (new.step IS DISTINCT FROM old.step))) EXECUTE FUNCTION warehouse.writebacks_stepped();
REVOKE ALL ON FUNCTION warehouse.writeback_events_kept() FROM PUBLIC;
REVOKE ALL ON FUNCTION warehouse.writebacks_arrived() FROM PUBLIC;
REVOKE ALL ON FUNCTION warehouse.writebacks_begin() FROM PUBLIC;
REVOKE ALL ON FUNCTION warehouse.writebacks_begun() FROM PUBLIC;
REVOKE ALL ON FUNCTION warehouse.writebacks_changed() FROM PUBLIC;
REVOKE ALL ON FUNCTION warehouse.writebacks_named() FROM PUBLIC;
REVOKE ALL ON FUNCTION warehouse.writebacks_revoked() FROM PUBLIC;
REVOKE ALL ON FUNCTION warehouse.writebacks_stepped() FROM PUBLIC;
insert into warehouse.sync_schema (name) values ('0001_first_tables'), ('0002_workers'), ('0003_outbox'), ('0004_webhooks'), ('0005_trigger_rights'), ('0006_cancellations'), ('0007_rollup_days'), ('0008_question_indexes'), ('0011_failures');
