-- What must hold of the engine's tables at every moment that anybody can see. One query per invariant, each returning
-- the rows that break it: all of them return nothing on a sound database, at any time and under any load.

-- A run with an open approval, question or outcome is paused.
select r.id as run_id, r.status, c.id as call_id, c.waits_on
  from runs r
  join tool_calls c on c.run_id = r.id
 where c.waits_on in ('approval', 'question', 'outcome')
   and r.status <> 'paused';

-- A paused run has something to wait on: an open wait of a call, a park of its own, or its quarantine.
select r.id as run_id, r.waits_on
  from runs r
 where r.status = 'paused'
   and r.parked_on is null
   and r.quarantined_at is null
   and not exists (select 1 from tool_calls c where c.run_id = r.id and c.waits_on is not null);

-- A run's status, what it waits on and when it wakes are what its calls and waits say. (An overdue wait that a kill
-- switch holds, or a lift gave more time, is looked at again later than its own deadline.)
select r.id as run_id, r.status, r.waits_on, r.wake_at, s.status as derived_status, s.waits_on as derived_waits_on, s.wake_at as derived_wake_at
  from runs r
  join run_state(array(select id from runs)) s on s.run_id = r.id
 where r.status <> s.status
    or r.waits_on is distinct from s.waits_on
    or (r.wake_at is distinct from s.wake_at
        and (s.wake_at > clock_timestamp() or r.wake_at < s.wake_at or r.wake_at is null or s.wake_at is null));

-- An approval is pending exactly while its call waits on it, for the same kind and until the same moment.
select a.run_id, a.id as approval_id, a.status, a.kind, c.status as call_status, c.waits_on
  from approvals a
  join tool_calls c on c.id = a.call_id
 where (a.status = 'pending') is distinct from (c.approval_id = a.id and c.waits_on is not distinct from a.kind)
    or (a.status = 'pending' and (a.expires_at is distinct from c.wait_until or a.run_id <> c.run_id));

-- A question is open exactly while its call waits on it, until the same moment.
select q.run_id, q.id as question_id, q.status, c.status as call_status, c.waits_on
  from questions q
  join tool_calls c on c.id = q.call_id
 where (q.status = 'open') is distinct from (c.question_id = q.id and c.waits_on is not distinct from 'question')
    or (q.status = 'open' and (q.expires_at is distinct from c.wait_until or q.run_id <> c.run_id));

-- A call that waits for a person has the approval or question it waits on.
select c.run_id, c.id as call_id, c.waits_on
  from tool_calls c
 where (c.waits_on in ('approval', 'outcome')
        and not exists (select 1 from approvals a where a.id = c.approval_id and a.call_id = c.id and a.kind = c.waits_on and a.status = 'pending'))
    or (c.waits_on = 'question'
        and not exists (select 1 from questions q where q.id = c.question_id and q.call_id = c.id and q.status = 'open'));

-- There is no card without its approval or question, none without a card, and both are open or closed together.
select coalesce(a.run_id, q.run_id, t.run_id) as run_id, t.id as task_id, t.status, a.status as approval_status, q.status as question_status
  from (select * from tasks where kind <> 'task') t
  full join approvals a on a.task_id = t.id
  full join questions q on q.task_id = t.id
 where t.id is null
    or (a.id is null) = (q.id is null)
    or t.approval_id is distinct from a.id
    or t.question_id is distinct from q.id
    or (t.status = 'open') <> (coalesce(a.status, q.status) in ('pending', 'open'))
    or (t.status = 'expired') <> (coalesce(a.status, q.status) = 'expired');

-- An approval has one outcome: a decided one names who decided what, and has one line in the log and one audit row.
select a.run_id, a.id as approval_id, a.status, a.answer
  from approvals a
 where (a.status in ('approved', 'denied')) <> (a.answer is not null and a.decided_by is not null)
       and not (a.status = 'superseded' and a.answer = 'approve')
    or (a.status = 'approved') <> (coalesce(a.answer, '') in ('approve', 'done', 'retry'))
       and a.status <> 'superseded'
    or (a.answer is not null)::int
       <> (select count(*) from audit u where u.action = 'approval.decided' and u.run_id = a.run_id and u.subject = a.id::text);

-- What lets a call run where a quorum is asked for has as many votes for that very answer.
select a.run_id, a.id as approval_id, a.answer
  from approvals a
 where a.answer in ('approve', 'retry')
   and (a.approver_rule ->> 'quorum')::int > 1
   and (a.approver_rule ->> 'quorum')::int
       > (select count(*)
            from votes d
            join votes v on v.approval_id = a.id and v.answer = d.answer and v.choice = d.choice
           where d.approval_id = a.id and d.user_id = a.decided_by);

-- A call that waits is looked at when its approval is next to be brought to mind.
select a.run_id, a.id as approval_id, c.notice_at
  from approvals a
  join tool_calls c on c.id = a.call_id
 where a.status = 'pending'
   and c.notice_at is distinct from least(a.remind_at, a.escalate_at);

-- A run's log has as many decisions as its approvals.
select r.id as run_id
  from runs r
 where (select count(*) from run_log l where l.run_id = r.id and l.kind = 'approval.decided')
    <> (select count(*) from approvals a where a.run_id = r.id and a.answer is not null);

-- The log of a run is numbered without a gap, up to the number on the run.
select r.id as run_id, r.last_seq, l.lines, l.first, l.last
  from runs r
 cross join lateral (select count(*) as lines, min(seq) as first, max(seq) as last from run_log g where g.run_id = r.id) l
 where l.lines <> r.last_seq
    or l.first is distinct from 1
    or l.last is distinct from r.last_seq;

-- A run that has ended is held by nobody, is not ready, wakes never, and has nothing open, executing or unread.
select r.id as run_id, r.status
  from runs r
 where r.status in ('completed', 'failed', 'canceled')
   and (r.lease_id is not null or r.lease_until is not null or r.ready_at is not null or r.wake_at is not null or r.unread <> 0
        or r.finished_at is null
        or exists (select 1 from tool_calls c
                    where c.run_id = r.id and (c.waits_on is not null or c.status in ('requested', 'waiting', 'executing')))
        or exists (select 1 from steers s where s.run_id = r.id and s.read_seq is null and s.closed_at is null));

-- No run is lost: where a worker has something to do and none holds the run, it is ready.
select r.id as run_id, r.status
  from runs r
  join run_state(array(select id from runs)) s on s.run_id = r.id
 where r.lease_id is null
   and r.ready_at is null
   and not s.is_idle;

-- A run in quarantine is neither held nor ready.
select r.id as run_id
  from runs r
 where r.quarantined_at is not null
   and (r.lease_id is not null or r.ready_at is not null);

-- Nothing is ready and unheld for longer than a minute, except under a kill switch.
select r.id as run_id, r.ready_at
  from runs r
 where r.ready_at < clock_timestamp() - interval '1 minute'
   and r.lease_id is null
   and (select p.killed from policy_of(array[r.id]) p) is null;

-- No lease is over for longer than a minute without being recovered.
select r.id as run_id, r.lease_until
  from runs r
 where r.lease_until < clock_timestamp() - interval '1 minute';

-- Every call of a turn is settled before the model's next turn.
select c.run_id, c.id as call_id, c.status
  from tool_calls c
  join runs r on r.id = c.run_id
 where (c.status in ('requested', 'waiting', 'executing') or c.waits_on is not null)
   and exists (select 1 from run_log l where l.run_id = c.run_id and l.kind = 'assistant' and l.seq > c.turn_seq);

-- A call whose effect cannot be repeated was started once, and once more for every `retry` of a person. One with a
-- credential may have been started again after a crash to look what became of it, which is no second effect.
select c.run_id, c.id as call_id, c.attempt
  from tool_calls c
 where c.effect = 'once'
   and c.requires = '{}'
   and c.attempt > 1 + (select count(*) from approvals a where a.call_id = c.id and a.answer = 'retry' and a.consumed_at is not null);

-- What was started under an approval used that approval up, and nothing that a person or the time refused was started.
select c.run_id, c.id as call_id, a.id as approval_id, a.status
  from tool_calls c
  join approvals a on a.id = c.approval_id and a.kind = 'approval'
 where (c.attempt > 0) <> (a.consumed_at is not null)
    or (c.attempt > 0 and a.status not in ('approved'));

-- A started call carries the epoch it was started under, and the claim of its effect if it has one.
select c.run_id, c.id as call_id, c.status, c.epoch
  from tool_calls c
  join runs r on r.id = c.run_id
 where c.attempt > 0
   and (c.epoch is null or c.epoch > r.epoch or c.has_effect_claim <> (c.effect in ('idempotent', 'once')));

-- Every capability that a call holds has its audit row, and its call was started. Attempts that did nothing, as their tool
-- said, have theirs too.
select l.run_id, l.call_id, l.capability
  from capability_leases l
  join tool_calls c on c.id = l.call_id
 where c.attempt = 0
    or c.attempt + c.undone <> (select count(*) from audit u
                      where u.action = 'capability.acquired' and u.run_id = l.run_id and u.call_id = l.call_id and u.subject = l.capability);

-- A run counts its messages right: the read ones come first and carry the log entry that brought them to the model.
select r.id as run_id, r.steers, r.unread
  from runs r
 cross join lateral (
       select count(*) as sent,
              count(*) filter (where s.read_seq is null and s.closed_at is null) as unread,
              max(s.n) filter (where s.read_seq is not null) as last_read,
              min(s.n) filter (where s.read_seq is null) as first_unread,
              count(*) filter (where s.read_seq is not null
                                 and not exists (select 1 from run_log l where l.run_id = r.id and l.seq = s.read_seq and l.kind = 'user')) as unlogged
         from steers s where s.run_id = r.id) m
 where m.sent <> r.steers
    or m.unread <> r.unread
    or m.last_read > m.first_unread
    or m.unlogged <> 0;
