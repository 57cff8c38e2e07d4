-- All that a worker needs to go on with a run: its facts, the conversation, every call with its result, the unread
-- steers, what a person denied it, and the policy it is judged under. Of the conversation only what lies after the log
-- entry p_after, with the calls from that entry's on: nothing before the last recorded turn can change.
create or replace function run_snapshot(p_ids uuid[], p_after int)
returns table (run_id uuid, snapshot json)
language sql stable as $$
  select r.id,
         json_build_object(
           'id', r.id, 'workspaceId', r.workspace_id, 'definitionId', r.definition_id, 'definitionVersion', r.definition_version,
           'startedBy', r.started_by, 'title', r.title, 'status', r.status, 'waitsOn', r.waits_on, 'epoch', r.epoch, 'leaseId', r.lease_id,
           'turns', r.turns, 'callCount', r.call_count, 'inputTokens', r.input_tokens, 'outputTokens', r.output_tokens,
           'costMicros', r.cost_micros, 'grants', r.grants,
           'workedMs', r.worked_ms + coalesce((extract(epoch from clock_timestamp() - r.claimed_at) * 1000)::bigint, 0),
           'databaseTime', extract(epoch from clock_timestamp()) * 1000,
           'policyVersions', p.versions, 'killed', p.killed,
           'canAnybodyAnswer', case when v.approvers is not null then can_be_decided(r.id) else exists (
             select 1 from users u
              where u.workspace_id = r.workspace_id and u.role in ('approver', 'admin') and u.disabled_at is null) end,
           'messages', coalesce((
             select json_agg(json_build_object('seq', m.seq, 'kind', m.kind, 'content', m.content,
                                               'tokens', m.input_tokens + m.output_tokens) order by m.seq)
               from run_log m where m.run_id = r.id and m.seq > p_after and m.kind in ('user', 'assistant', 'summary')), '[]'),
           'calls', coalesce((
             select json_agg(json_build_object(
                      'id', c.id, 'turnSeq', c.turn_seq, 'position', c.position, 'providerId', c.provider_id, 'tool', c.tool,
                      'args', c.args, 'argsHash', c.args_hash, 'definitionHash', c.definition_hash, 'effect', c.effect,
                      'requires', c.requires, 'status', c.status, 'waitsOn', c.waits_on, 'attempt', c.attempt, 'epoch', c.epoch,
                      'result', c.result, 'resultCode', c.result_code,
                      'amended', case when num_nonnulls(c.run_args, c.selected_option, c.classified) > 0 then json_build_object(
                                   'args', c.run_args, 'argsHash', c.run_args_hash, 'selectedOption', c.selected_option,
                                   'classified', c.classified) end,
                      'approval', a.approval) order by c.turn_seq, c.position)
               from tool_calls c
               left join lateral (
                    select json_build_object('id', v.id, 'status', v.status, 'gateRow', v.gate_row, 'gateReason', v.gate_reason,
                                             'policyVersions', v.policy_versions, 'isConsumed', v.consumed_at is not null,
                                             -- Escapes stay unread: the operator refuses cards with an escaped NUL or half a surrogate.
                                             'shownReasons', regexp_replace(v.card, '(?<!\\)((?:\\\\)*)\\u', '\1\\\\u', 'g')::json -> 'floorReasons',
                                             'answer', v.answer, 'feedback', v.feedback,
                                             'choice', case when num_nonnulls(v.edited_args, v.selected_option, v.preconditions) > 0 then json_build_object(
                                                         'editedArgs', v.edited_args, 'editedArgsHash', v.edited_args_hash,
                                                         'selectedOption', v.selected_option, 'preconditions', v.preconditions) end) as approval
                      from approvals v where v.id = c.approval_id limit 1) a on true
              where c.run_id = r.id and c.turn_seq >= p_after), '[]'),
           'steers', coalesce((
             select json_agg(json_build_object('n', s.n, 'author', s.author, 'content', s.content) order by s.n)
               from steers s where s.run_id = r.id and r.unread > 0 and s.n > r.steers - r.unread), '[]'),
           'policy', y.policy,
           'denials', coalesce((
             select json_agg(json_build_object('approvalId', d.approval_id, 'tool', d.tool, 'argsHash', coalesce(d.run_args_hash, d.args_hash)))
               from tool_calls d where d.run_id = r.id and d.result_code = 'user_denied'), '[]'))
    from runs r
   cross join lateral policy_of(array[r.id]) p
    left join lateral (
         select d.approvers from definition_versions d
          where d.definition_id = r.definition_id and d.version = r.definition_version limit 1) v on true
   cross join lateral stored_policy(r.workspace_id, r.definition_id, r.id) y
   where r.id = any (p_ids)
$$;
