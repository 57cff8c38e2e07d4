-- Loads $1 runs that wait for a decision, as the commits would have left them: started and paused one second after the
-- other in the past, each with 1 KB of content that does not compress. Copied from one real run, $2, that waited.
with template as materialized (
       select r as run, c as call, a as approval, t as task,
              (select l from run_log l where l.run_id = r.id and l.kind = 'assistant' order by l.seq limit 1) as turn
         from runs r
         join tool_calls c on c.run_id = r.id
         join approvals a  on a.id = c.approval_id
         join tasks t      on t.approval_id = a.id
        where r.id = $2::text::uuid),
     ids as materialized (
       select n, uuidv7(at) as run_id, uuidv7(at + interval '1 millisecond') as call_id, uuidv7(at + interval '2 milliseconds') as approval_id,
              uuidv7(at + interval '3 milliseconds') as task_id, clock_timestamp() + at as at,
              (select string_agg(md5(n::text || k::text), '') from generate_series(1, 32) k) as content
         from generate_series(1, $1::text::int) n
        cross join lateral (select ($3::text::int + n - 20000000) * interval '1 second' as at) moment),
     new_runs as (
       insert into runs (id, workspace_id, definition_id, definition_version, root_id, depth, started_by, title, grants, status, waits_on,
                         epoch, worker, claimed_at, last_seq, turns, call_count, input_tokens, output_tokens, worked_ms, created_at)
       select i.run_id, (t.run).workspace_id, (t.run).definition_id, 1, i.run_id, 0, (t.run).started_by, 'Ask the supplier about order ' || i.n,
              (t.run).grants, 'paused', 'approval', 1, (t.run).worker, i.at, 2, 1, 1, 1, 1, 20, i.at
         from ids i cross join template t),
     new_lines as (
       insert into run_log (run_id, seq, kind, actor, content, at)
       select i.run_id, 1, 'user', 'user:' || (t.run).started_by, '"' || i.content || '"', i.at from ids i cross join template t
        union all
       select i.run_id, 2, 'assistant', 'run:' || i.run_id, (t.turn).content, i.at from ids i cross join template t),
     new_calls as (
       insert into tool_calls (id, run_id, turn_seq, position, provider_id, tool, args, args_hash, definition_hash, effect, requires,
                               verdict, gate_row, gate_reason, policy_versions, status, waits_on, approval_id)
       select i.call_id, i.run_id, 2, 0, (t.call).provider_id, (t.call).tool, (t.call).args, (t.call).args_hash, (t.call).definition_hash,
              (t.call).effect, (t.call).requires, 'ask', (t.call).gate_row, (t.call).gate_reason, (t.call).policy_versions, 'waiting', 'approval',
              i.approval_id
         from ids i cross join template t),
     new_approvals as (
       insert into approvals (id, workspace_id, run_id, call_id, task_id, kind, status, args_hash, definition_hash, policy_versions,
                              gate_row, gate_reason, card, requested_at)
       select i.approval_id, (t.run).workspace_id, i.run_id, i.call_id, i.task_id, 'approval', 'pending', (t.approval).args_hash,
              (t.approval).definition_hash, (t.approval).policy_versions, (t.approval).gate_row, (t.approval).gate_reason, (t.approval).card, i.at
         from ids i cross join template t)
insert into tasks (id, workspace_id, kind, status, section, title, run_id, approval_id, created_by, created_at)
select i.task_id, (t.run).workspace_id, 'approval', 'open', (t.task).section, (t.task).title, i.run_id, i.approval_id, 'run:' || i.run_id, i.at
  from ids i cross join template t
