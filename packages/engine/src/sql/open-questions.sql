-- Writes a question and its card for each given call that waits for an answer (`question_id`, `wait_until`).
create or replace function open_questions(
  p_calls uuid[], p_tasks uuid[], p_titles text[], p_questions text[], p_options text[], p_contexts text[], p_defaults text[]
) returns void
language plpgsql volatile as $$
begin
  insert into questions (id, workspace_id, run_id, call_id, task_id, status, question, options, context, default_answer, expires_at)
  select c.question_id, r.workspace_id, r.id, c.id, n.task_id, 'open', n.question,
         array(select json_array_elements_text(n.options::json)), n.context, n.default_answer, c.wait_until
    from unnest(p_calls, p_tasks, p_questions, p_options, p_contexts, p_defaults)
         n (call_id, task_id, question, options, context, default_answer)
    join tool_calls c on c.id = n.call_id
    join runs r on r.id = c.run_id;

  insert into tasks (id, workspace_id, kind, status, section, title, run_id, question_id, page_id, node_id, created_by)
  select n.task_id, r.workspace_id, 'question', 'open', 'needs-confirm', n.title, r.id, c.question_id, r.page_id, r.node_id, 'run:' || r.id
    from unnest(p_calls, p_tasks, p_titles) n (call_id, task_id, title)
    join tool_calls c on c.id = n.call_id
    join runs r on r.id = c.run_id;
end
$$;
