/**
 * Step 11 of the schema: the reasoning among the tokens of a model call, and to which chain of tasks a task belongs, for its events (docs/events.md#the-body). Only a task that
 * another one sent on, or that names another root, has a row. It is a table of its own because a column behind the message
 * would be read through the whole message.
 *
 * Of the tasks before this step, those with events to come have a row. The caller of their root is not known.
 */
export const STEP_11 = `
  CREATE TABLE lineages (
    task INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    fields TEXT NOT NULL
  ) STRICT;
  ALTER TABLE erased_events ADD COLUMN lineage TEXT;
  -- A part of output_tokens.
  ALTER TABLE tokens ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;

  INSERT INTO lineages
  SELECT n, json_set(json_patch('{}', json_object(
      'root_id', coalesce(root_id, key), 'parent_task_id', parent_task_id, 'parent_profile', parent_profile
    )), '$.root_caller', NULL)
  FROM (
    SELECT n, key,
      iif(json_type(task, '$.root_id') = 'text', substr(task ->> '$.root_id', 1, 200), NULL) AS root_id,
      iif(json_type(task, '$.parent.task_id') = 'text', substr(task ->> '$.parent.task_id', 1, 200), NULL) AS parent_task_id,
      iif(json_type(task, '$.parent.profile') = 'text', substr(task ->> '$.parent.profile', 1, 200), NULL) AS parent_profile,
      coalesce(json_array_length(task, '$.path'), 0) AS hops
    FROM (
      SELECT n, key, CASE
          WHEN dispatch IS NOT NULL THEN iif(json_valid(dispatch), dispatch -> '$.task', NULL)
          WHEN json_valid(message) THEN message -> ('$.parts[' || dispatch_part || '].data.task')
        END AS task
      FROM tasks
      WHERE n IN (SELECT task FROM unfinished UNION SELECT task FROM events WHERE seq > (SELECT cursor FROM outbox))
    )
  )
  WHERE root_id <> key OR parent_task_id IS NOT NULL OR hops > 0
  ORDER BY n;
  `;
