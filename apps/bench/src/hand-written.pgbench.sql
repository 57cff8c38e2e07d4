-- What one would write by hand for one gated run: the rows that the commits write, one transition a commit, and no check
-- of anything. Read by pgbench, and where that is not at hand by hand-written.ts. :workspace, :definition and :approver
-- are given.

-- start run
with n as materialized (select uuidv7() as id),
     run as (
       insert into runs (id, workspace_id, definition_id, definition_version, root_id, depth, started_by, title, grants, status, ready_at, last_seq)
       select n.id, :workspace::uuid, :definition::uuid, 1, n.id, 0, :approver::uuid, 'a run', '{mail.send}', 'queued', clock_timestamp(), 1 from n)
insert into run_log (run_id, seq, kind, actor, content)
select n.id, 1, 'user', 'user:' || :approver, '"please"' from n
returning run_id as run \gset

-- claim
update runs
   set epoch = 1, lease_id = gen_random_uuid(), lease_until = clock_timestamp() + interval '30 seconds', worker = 'embedded',
       claimed_at = clock_timestamp(), ready_at = null, claims_without_progress = 1, status = 'running'
 where id = :run::uuid and lease_id is null;

-- record turn
with n as materialized (select uuidv7() as call_id, uuidv7() as approval_id, uuidv7() as task_id),
     line as (
       insert into run_log (run_id, seq, kind, actor, content, input_tokens, output_tokens, cost_micros)
       values (:run::uuid, 2, 'assistant', 'run:' || :run, '[{"type":"tool_use","id":"toolu_01a22b50-7dc3-7350-95d0-20acfff52309","name":"mail.send"}]', 1, 1, 0)),
     call as (
       insert into tool_calls (id, run_id, turn_seq, position, provider_id, tool, args, args_hash, definition_hash, effect, requires,
                               verdict, gate_row, gate_reason, policy_versions, status, waits_on, approval_id)
       select n.call_id, :run::uuid, 2, 0, 'toolu_01a22b50-7dc3-7350-95d0-20acfff52309', 'mail.send', '{}',
              '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', 'f6683e4cb213501d5ee4d5f2333395dc8ad01cf9fb5570ab143243b851a14b55',
              'once', '{mail.send}', 'ask', '19', 'needs_approval', '1.1.1.0', 'waiting', 'approval', n.approval_id from n),
     approval as (
       insert into approvals (id, workspace_id, run_id, call_id, task_id, kind, status, args_hash, definition_hash, policy_versions, gate_row, gate_reason, card)
       select n.approval_id, :workspace::uuid, :run::uuid, n.call_id, n.task_id, 'approval', 'pending',
              '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', 'f6683e4cb213501d5ee4d5f2333395dc8ad01cf9fb5570ab143243b851a14b55',
              '1.1.1.0', '19', 'needs_approval',
              '{"tool":"mail.send","args":"{}","argsHash":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","details":[],"row":"19","reason":"needs_approval","floorReasons":[],"requires":["mail.send"]}' from n),
     task as (
       insert into tasks (id, workspace_id, kind, status, section, title, run_id, approval_id, created_by)
       select n.task_id, :workspace::uuid, 'approval', 'open', 'needs-confirm', 'mail.send', :run::uuid, n.approval_id, 'run:' || :run from n)
update runs
   set last_seq = 2, turns = 1, call_count = 1, input_tokens = 1, output_tokens = 1, claims_without_progress = 0,
       status = 'paused', waits_on = 'approval', lease_id = null, lease_until = null
  from n
 where id = :run::uuid
returning n.call_id as call, n.approval_id as approval, n.task_id as task \gset

-- decide approval
with approval as (
       update approvals set status = 'approved', version = 2, decided_at = clock_timestamp(), decided_by = :approver::uuid, answer = 'approve'
        where id = :approval::uuid and status = 'pending'),
     task as (
       update tasks set status = 'done', resolved_at = clock_timestamp(), resolved_by = 'user:' || :approver, resolution = 'approve' where id = :task::uuid),
     call as (update tool_calls set status = 'requested', waits_on = null where id = :call::uuid),
     line as (
       insert into run_log (run_id, seq, kind, call_id, actor, content)
       values (:run::uuid, 3, 'approval.decided', :call::uuid, 'user:' || :approver, '"approve"')),
     audited as (
       insert into audit (workspace_id, actor, action, run_id, call_id, subject, details)
       values (:workspace::uuid, 'user:' || :approver, 'approval.decided', :run::uuid, :call::uuid, :approval,
               '{"answer":"approve","way": null,"outcome":"decided","argsHash":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","version": 1,"cardHash":"f362bc7bee9c75289d869aa9af8d21e3d4e8bf8e65bb88c01282d0468dccda62","policyVersions":"1.1.1.0"}'))
update runs set last_seq = 3, status = 'running', waits_on = null, ready_at = clock_timestamp() where id = :run::uuid;

-- claim, and begin the call
with call as (
       update tool_calls set status = 'executing', attempt = 1, epoch = 2, has_effect_claim = true, started_at = clock_timestamp() where id = :call::uuid),
     approval as (update approvals set consumed_at = clock_timestamp() where id = :approval::uuid),
     lease as (
       insert into capability_leases (call_id, capability, run_id, acquired_at, expires_at)
       values (:call::uuid, 'mail.send', :run::uuid, clock_timestamp(), clock_timestamp() + interval '5 minutes')),
     audited as (
       insert into audit (workspace_id, actor, action, run_id, call_id, subject)
       values (:workspace::uuid, 'run:' || :run, 'capability.acquired', :run::uuid, :call::uuid, 'mail.send')),
     line as (
       insert into run_log (run_id, seq, kind, call_id, actor, content)
       values (:run::uuid, 4, 'capability.acquired', :call::uuid, 'run:' || :run, '"acquired mail.send"'))
update runs
   set epoch = 2, lease_id = gen_random_uuid(), lease_until = clock_timestamp() + interval '30 seconds', worker = 'embedded',
       claimed_at = clock_timestamp(), ready_at = null, claims_without_progress = 1, last_seq = 4
 where id = :run::uuid and lease_id is null;

-- complete call
with call as (update tool_calls set status = 'done', result = '"ok"', finished_at = clock_timestamp() where id = :call::uuid),
     line as (
       insert into run_log (run_id, seq, kind, call_id, actor, content)
       values (:run::uuid, 5, 'call.completed', :call::uuid, 'run:' || :run, '"mail.send done"'))
update runs set last_seq = 5, claims_without_progress = 0 where id = :run::uuid;

-- record turn, and finish
with line as (
       insert into run_log (run_id, seq, kind, actor, content, input_tokens, output_tokens, cost_micros)
       values (:run::uuid, 6, 'assistant', 'run:' || :run, '[{"type":"text","text":"done"}]', 1, 1, 0),
              (:run::uuid, 7, 'run.ended', 'run:' || :run, '"completed"', null, null, null))
update runs
   set last_seq = 7, turns = 2, input_tokens = 2, output_tokens = 2, status = 'completed', output = '"done"', finished_at = clock_timestamp(),
       lease_id = null, lease_until = null, worked_ms = 10
 where id = :run::uuid;
