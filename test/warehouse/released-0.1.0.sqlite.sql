-- The schema of a warehouse of 0.1.0.
create table sync_schema
    (name text primary key, applied_at text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')));
create table conversations (project_id text not null, raw text not null, synced_at text not null, run_id text, asked_at integer not null, deleted_at text, id text not null, visitor_id text, status text, created_at text, last_message_at text, last_message_sender_type text, handled_at text, waiting_since text, assigned_agent_id text, origin text, messages_complete boolean, primary key (project_id, id));
create table messages (project_id text not null, raw text not null, synced_at text not null, run_id text, asked_at integer not null, deleted_at text, conversation_id text not null, id integer not null, sender_type text, kind text, content text, sender_display_name text, created_at text, primary key (project_id, conversation_id, id));
create table visitors (project_id text not null, raw text not null, synced_at text not null, run_id text, asked_at integer not null, deleted_at text, id text not null, name text, email text, primary key (project_id, id));
create table visitor_activity (project_id text not null, raw text not null, synced_at text not null, run_id text, asked_at integer not null, deleted_at text, visitor_id text not null, entry_hash text not null, ordinal integer not null, occurred_at text, primary key (project_id, visitor_id, entry_hash, ordinal));
create table calls (project_id text not null, raw text not null, synced_at text not null, run_id text, asked_at integer not null, deleted_at text, id text not null, occurred_at text, primary key (project_id, id));
create table call_recordings (project_id text not null, raw text not null, synced_at text not null, run_id text, asked_at integer not null, deleted_at text, call_id text not null, has_recording boolean, checked_at text, primary key (project_id, call_id));
create table analytics_rollups (project_id text not null, raw text not null, synced_at text not null, run_id text, asked_at integer not null, window_from text not null, window_to text not null, read_at text, day text, time_zone text, primary key (project_id, window_from, window_to));
create table analytics_metrics (project_id text not null, window_from text not null, window_to text not null, metric text not null, value real not null, day text, time_zone text, primary key (project_id, window_from, window_to, metric));
create table availability_snapshots (project_id text not null, raw text not null, synced_at text not null, run_id text, asked_at integer not null, taken_at text not null, available boolean, agents_online integer, primary key (project_id, taken_at));
create table conversation_changes (project_id text not null, id text not null, conversation_id text not null, field text not null, old_value text, new_value text, seen_at text not null, primary key (project_id, id));
create table sync_runs (project_id text not null, id text not null, mode text not null, started_at text not null, finished_at text, outcome text, requests integer not null, rows_read integer not null, rows_changed integer not null, streams text, strings_escaped integer not null, beat_at integer not null, request_log text, holder text, primary key (project_id, id));
create table sync_cursors (project_id text not null, stream text not null, position text not null, primary key (project_id, stream));
create table sync_gaps (project_id text not null, id text not null, stream text not null, from_ts text, to_ts text, reason text not null, found_at text not null, resolved_at text, subject text not null, seen_at integer, primary key (project_id, id));
create table sync_children (project_id text not null, stream text not null, parent_id text not null, wanted integer not null, fetched integer not null, due_at integer, attempts integer not null, position text, checked_at integer, error text, whole integer, primary key (project_id, stream, parent_id));
create table sync_census (project_id text not null, census text not null, id text not null, primary key (project_id, census, id));
create table service_behaviours (project_id text not null, name text not null, value text not null, evidence text not null, learned_at text not null, primary key (project_id, name));
create table discovered_fields (project_id text not null, stream text not null, path text not null, column_name text, type text not null, first_seen_at text not null, fill_after text, primary key (project_id, stream, path));
create index conversations_by_start on conversations (project_id, created_at);
create index conversations_by_visitor on conversations (project_id, visitor_id);
create index conversations_open on conversations (project_id, last_message_at) where handled_at is null;
create index conversations_deleted on conversations (project_id) where deleted_at is not null;
create index messages_by_time on messages (project_id, created_at);
create index messages_deleted on messages (project_id) where deleted_at is not null;
create index visitors_deleted on visitors (project_id) where deleted_at is not null;
create index activity_by_time on visitor_activity (project_id, occurred_at);
create index activity_deleted on visitor_activity (project_id) where deleted_at is not null;
create index calls_by_time on calls (project_id, occurred_at);
create index calls_deleted on calls (project_id) where deleted_at is not null;
create index recordings_deleted on call_recordings (project_id) where deleted_at is not null;
create index changes_by_conversation on conversation_changes (project_id, conversation_id);
create index children_to_read on sync_children (project_id, stream, due_at) where due_at is not null and fetched = 0;
create index runs_by_beat on sync_runs (project_id, beat_at);
create unique index gaps_open on sync_gaps (project_id, stream, subject) where resolved_at is null;
create table sync_locks (project_id text not null, stream text not null, token text not null,
      host text not null, pid integer not null, process text not null, since text not null,
      beat_at integer not null, primary key (project_id, stream));
create table sync_streams (project_id text not null, stream text not null, synced_at text, skipped text,
      failed text, failed_since text, primary key (project_id, stream));
create table sync_projects (project_id text not null, paused_until integer, paused_key text,
      paused_why text, budget_lost_at integer, budget_lost_why text, primary key (project_id));
create table sync_budgets (name text not null, version text not null, state text not null,
      primary key (name));
create table sync_keys (name text not null, used_at integer not null, primary key (name));
create table sync_workers (id text not null, host text not null, pid integer not null,
      process text not null, queue text not null, since text not null, beat_at integer not null,
      primary key (id));
create index children_to_refresh on sync_children (project_id, stream, due_at)
      where due_at is not null and fetched > 0 and whole is null;
create index children_to_proofread on sync_children (project_id, stream, due_at)
      where due_at is not null and fetched > 0 and whole is not null;
create index runs_unfinished on sync_runs (project_id) where finished_at is null;
create table writebacks (project_id text not null default '', id text not null default (lower(hex(randomblob(16)))),
      operation text not null check (operation in ('message','handled','visitor','note')),
      conversation_id text, visitor_id text,
      payload text not null constraint payload_is_a_json_object check (case when json_valid(payload) then json_type(payload) = 'object' else 0 end),
      status text not null default 'queued' check (status in ('draft','queued','sending','succeeded','failed','conflict','uncertain','cancelled','expired')),
      attempts integer not null default 0 check (attempts >= 0),
      batch_id text, ref text, expect text, expires_at text, created_at text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')), created_by text,
      sent_at text, finished_at text, request_id text, error text, evidence text, step text, message_id text,
      seen text, seq integer not null default 0, lane text not null default '', epoch integer not null default 0,
      owner text, lease_until integer, due_at integer, revoked_as text check (revoked_as in ('cancelled','expired')), primary key (project_id, id),
      constraint message_and_handled_need_conversation_id check ((operation not in ('message','handled') or conversation_id glob '[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]-[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]-[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]-[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]-[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]') is true),
constraint visitor_and_note_need_visitor_id check ((operation not in ('visitor','note') or visitor_id glob '[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]-[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]-[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]-[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]-[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]') is true),
constraint message_needs_content_and_sender_name check ((operation <> 'message' or (json_type(payload, '$.content') = 'text' and length(json_extract(payload, '$.content')) <= 20000 and trim(json_extract(payload, '$.content'), char(9,10,13,32)) <> ''
      and json_type(payload, '$.sender_name') = 'text' and length(json_extract(payload, '$.sender_name')) <= 300 and trim(json_extract(payload, '$.sender_name'), char(9,10,13,32)) <> '' and json_remove(payload, '$.content', '$.sender_name') = '{}')) is true),
constraint handled_needs_true_or_false check ((operation <> 'handled' or (json_type(payload, '$.handled') in ('true','false') and json_remove(payload, '$.handled') = '{}')) is true),
constraint note_needs_content check ((operation <> 'note' or (json_type(payload, '$.content') = 'text' and length(json_extract(payload, '$.content')) <= 20000 and trim(json_extract(payload, '$.content'), char(9,10,13,32)) <> '' and json_remove(payload, '$.content') = '{}')) is true),
constraint visitor_needs_name_or_email check ((operation <> 'visitor' or ((json_type(payload, '$.name') is not null or json_type(payload, '$.email') is not null)
      and (json_type(payload, '$.name') is null or json_type(payload, '$.name') = 'null' or (json_type(payload, '$.name') = 'text' and length(json_extract(payload, '$.name')) <= 300 and trim(json_extract(payload, '$.name'), char(9,10,13,32)) <> '')) and (json_type(payload, '$.email') is null or json_type(payload, '$.email') = 'null' or (json_type(payload, '$.email') = 'text' and length(json_extract(payload, '$.email')) <= 320 and trim(json_extract(payload, '$.email'), char(9,10,13,32)) <> '')) and json_remove(payload, '$.name', '$.email') = '{}')) is true));
create table writeback_events (project_id text not null, id text not null default (lower(hex(randomblob(16)))), writeback_id text not null,
      at text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')), from_status text, to_status text not null check (to_status in ('draft','queued','sending','succeeded','failed','conflict','uncertain','cancelled','expired')),
      detail text, request_id text, seq integer not null default 0, primary key (project_id, id));
create index events_by_writeback on writeback_events (project_id, writeback_id, seq);
create unique index events_by_order on writeback_events (seq);
create trigger writebacks_begin before insert on writebacks when new.status not in ('draft','queued')
      begin select raise(abort, 'a write-back begins as queued or as draft'); end;
create trigger writebacks_arrived before update of status on writebacks
      when old.status = 'succeeded' and new.status <> 'succeeded'
      begin select raise(abort, 'a write-back that has arrived stays so'); end;
create trigger writebacks_changed after update of operation, conversation_id, visitor_id, payload on writebacks
      when new.operation is not old.operation or new.conversation_id is not old.conversation_id or new.visitor_id is not old.visitor_id or new.payload is not old.payload begin
      update writebacks set lane = case when new.operation in ('message','handled')
  then 'conversation/' || lower(new.conversation_id) else 'visitor/' || lower(new.visitor_id) end, epoch = epoch + 1 where project_id = new.project_id and id = new.id; end;
create trigger events_kept before update on writeback_events when old.seq <> 0 and old.project_id <> ''
      begin select raise(abort, 'the log of write-backs is only ever added to'); end;
create trigger events_never_deleted before delete on writeback_events
      begin select raise(abort, 'the log of write-backs is only ever added to'); end;
create unique index writebacks_by_order on writebacks (seq);
create index writebacks_by_status on writebacks (project_id, status, created_at);
create index writebacks_in_lane on writebacks (project_id, lane, seq) where status in ('queued','sending','uncertain');
create index writebacks_by_lane on writebacks (project_id, lane, seq);
create index writebacks_to_do on writebacks (project_id, seq) where status in ('queued','sending');
create unique index writebacks_by_ref on writebacks (project_id, ref) where ref is not null;
create unique index writebacks_by_message on writebacks (project_id, lane, message_id) where message_id is not null;
create index writebacks_owned on writebacks (project_id, owner) where owner is not null;
create index writebacks_by_batch on writebacks (project_id, batch_id, seq) where batch_id is not null;
create table webhook_deliveries (project_id text not null, id text not null, received_at text not null,
      bytes integer not null, body text not null, due_at integer, attempts integer not null,
      taken_at text, found text, primary key (project_id, id));
create index deliveries_due on webhook_deliveries (project_id, due_at) where due_at is not null;
create index deliveries_by_age on webhook_deliveries (received_at);
create trigger writebacks_begun after insert on writebacks begin
      update writebacks set lane = case when new.operation in ('message','handled')
  then 'conversation/' || lower(new.conversation_id) else 'visitor/' || lower(new.visitor_id) end, ref = coalesce(new.ref, new.id), seen = case when new.operation in ('message','handled')
    then (select json_object('last_message_at', last_message_at) from conversations
    where project_id = case when new.project_id <> '' then new.project_id else (select min(project_id) from conversations) end
      and id = new.conversation_id and deleted_at is null)
    else (select json_object('name', name, 'email', email) from visitors
    where project_id = case when new.project_id <> '' then new.project_id else (select min(project_id) from visitors) end
      and id = new.visitor_id and deleted_at is null) end,
        seq = (select coalesce(max(seq), 0) + 1 from writebacks), attempts = 0, epoch = 0, owner = null, lease_until = null, sent_at = null, finished_at = null, request_id = null, error = null, evidence = null, message_id = null
        where project_id = new.project_id and id = new.id;
      insert into writeback_events (project_id, writeback_id, from_status, to_status, detail)
        values (new.project_id, new.id, null, new.status, new.step); end;
create trigger writebacks_named after update of project_id on writebacks
      when old.project_id = '' and new.seen is null begin
      update writebacks set seen = case when new.operation in ('message','handled')
    then (select json_object('last_message_at', last_message_at) from conversations
    where project_id = case when new.project_id <> '' then new.project_id else (select min(project_id) from conversations) end
      and id = new.conversation_id and deleted_at is null)
    else (select json_object('name', name, 'email', email) from visitors
    where project_id = case when new.project_id <> '' then new.project_id else (select min(project_id) from visitors) end
      and id = new.visitor_id and deleted_at is null) end where project_id = new.project_id and id = new.id; end;
create table writeback_cancellations (project_id text not null, id text not null, batch_id text,
      nameless integer not null, up_to integer not null, done_to integer not null, cancelled_at text not null, cancelled_by text not null,
      finished_at text, primary key (project_id, id));
create index cancellations_open on writeback_cancellations (project_id) where finished_at is null;
create index writebacks_by_fate on writebacks (project_id, finished_at) where finished_at is not null
      and operation in ('message','note') and status in ('succeeded','failed','uncertain');
create trigger events_begun after insert on writeback_events when new.seq = 0 begin
      update writeback_events set seq = (select coalesce(max(seq), 0) + 1 as place from writeback_events) where project_id = new.project_id and id = new.id; end;
create trigger writebacks_stepped after update of status, step on writebacks
      when (new.status is not old.status or new.step is not old.step) and not (old.status = 'sending' and new.status in ('cancelled','expired') and old.revoked_as is null)
        and not (old.status in ('cancelled','expired') and new.status = 'sending' and new.step is old.step) begin
      insert into writeback_events (project_id, id, writeback_id, from_status, to_status, detail, request_id, seq)
        select new.project_id, printf('%024x', place) || lower(hex(randomblob(4))), new.id, old.status, new.status, new.step, new.request_id, place from (select coalesce(max(seq), 0) + 1 as place from writeback_events); end;
create trigger writebacks_revoked after update of status on writebacks when old.status = 'sending' and new.status in ('cancelled','expired') and old.revoked_as is null begin
      update writebacks set status = 'sending', revoked_as = new.status, finished_at = null, error = null, owner = old.owner,
        lease_until = old.lease_until, due_at = old.due_at where project_id = new.project_id and id = new.id;
      insert into writeback_events (project_id, id, writeback_id, from_status, to_status, detail, request_id, seq)
        select new.project_id, printf('%024x', place) || lower(hex(randomblob(4))), new.id, 'sending', 'sending', case when new.step is not old.step then new.step else new.status || ' while it was on its way' end, new.request_id, place from (select coalesce(max(seq), 0) + 1 as place from writeback_events); end;
create index metrics_by_name on analytics_metrics (metric, project_id, window_from);
create index changes_of_handled on conversation_changes (project_id, conversation_id) where field = 'handled_at';
create table sync_failures (project_id text not null, job text not null, subject text not null,
      since text not null, last_at text not null, failures integer not null, reason text not null,
      primary key (project_id, job, subject));
create table sync_requests (project_id text not null, id text not null, purpose text not null,
      beat_at integer not null, request_log text not null, primary key (project_id, id));
insert into sync_schema (name) values ('0001_first_tables'), ('0002_workers'), ('0003_outbox'), ('0004_webhooks'), ('0005_trigger_rights'), ('0006_cancellations'), ('0007_rollup_days'), ('0008_question_indexes'), ('0011_failures');
