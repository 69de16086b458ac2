import { flag, type OptionSpecs, text, texts, usage } from '../command-line/command.ts';
import { CONTRACT_OPTIONS, FLEET_OPTIONS, REACH_OPTIONS } from '../command-line/shared-options.ts';

/** Options that only a dispatch can carry, so not for an agent that is not of the fleet. */
export const DISPATCHED = {
  to: text('peer', 'the peer that must do it; the fleet chooses by default'),
  deadline: text('time', 'when it must be done: 10m from now, or a time in ISO 8601'),
  schema: text('file', 'a JSON Schema for the output, which is then JSON'),
  ...CONTRACT_OPTIONS,
  'include-changes': flag('with the path of a checkout: send what is not committed, too'),
  whole: flag('with the path of a checkout: send all of it, whatever its remotes'),
} satisfies OptionSpecs;

const SEND_OPTIONS = {
  ...REACH_OPTIONS,
  ...DISPATCHED,
  file: texts('path', 'attach a file; repeat it for more'),
  context: text('id', 'continue in this context'),
  detach: flag('do not wait: print the id of the task'),
} satisfies OptionSpecs;

export const MAX_LIMIT = 100;

export const sendUsage = usage('send', 'send a task, watch it, and print its result', {
  args: '[brief]',
  options: SEND_OPTIONS,
  examples: [
    'send "Write a haiku into haiku.txt"',
    'send "Fix the failing test" --budget 40000 --deadline 10m --mcp filesystem',
    'send "Fix the failing test" --repo .',
    'send "Fix the failing test" --repo web --base release/1.2',
    'send - --file report.csv --detach < brief.md',
    'send "hello" --url https://agent.example --token-env AGENT_TOKEN',
  ],
});

const TASK_OPTIONS = {
  ...REACH_OPTIONS,
  profile: text('name', 'the profile that has the task; it is looked for by default'),
} satisfies OptionSpecs;

export const tasksUsage = usage('tasks', 'print your tasks at all profiles, the latest change first', {
  options: {
    ...FLEET_OPTIONS,
    profile: text('name', 'the profile to ask; all by default'),
    state: text('state', 'in this state only, such as working'),
    context: text('id', 'of this context only'),
    limit: text('n', `how many of each profile; 20 by default, at most ${MAX_LIMIT}`),
  },
  examples: ['tasks', 'tasks --state working', 'tasks --profile switch --limit 5 --json'],
});

export const taskUsage = usage('task', 'print a task as it is now, with its result', {
  args: '<id>',
  options: {
    ...TASK_OPTIONS,
    artifacts: text(
      'folder',
      'save the artifacts of the task there, and print the paths of the files instead',
    ),
    force: flag('with --artifacts: replace files that exist'),
  },
  examples: ['task 01a20cd2-…', 'task 01a20cd2-… -o yaml', 'task 01a20cd2-… --artifacts out'],
});

/** As TASK_OPTIONS, without those for an agent that is not of the fleet, which has no such results. */
const RESULT_OPTIONS = {
  ...FLEET_OPTIONS,
  profile: TASK_OPTIONS.profile,
} satisfies OptionSpecs;

export const diffUsage = usage('diff', 'print what a task changed, as a diff of git', {
  args: '<id> [path]',
  options: { ...RESULT_OPTIONS, stat: flag('a summary with a line for each file') },
  examples: ['diff 01a20cd2-…', 'diff 01a20cd2-… --stat', 'diff 01a20cd2-… src/main.ts | less'],
});

export const showUsage = usage('show', 'print a file as a task left it', {
  args: '<id> <path>',
  options: RESULT_OPTIONS,
  examples: ['show 01a20cd2-… haiku.txt', 'show 01a20cd2-… logo.png > logo.png'],
  textOnly: true,
});

export const pullUsage = usage('pull', 'take the result of a task into the git repository of this folder', {
  args: '<id>',
  options: {
    ...RESULT_OPTIONS,
    branch: text(
      'name',
      'the branch that gets the commits; default: fleet/ and the last 8 characters of the context id',
    ),
    apply: flag('apply the changes to the working tree instead, and stage them'),
  },
  examples: ['pull 01a20cd2-…', 'pull 01a20cd2-… --branch fix-login', 'pull 01a20cd2-… --apply'],
});

export const watchUsage = usage('watch', 'watch a task until it ends, and print its result', {
  args: '<id>',
  options: TASK_OPTIONS,
  examples: ['watch 01a20cd2-…'],
});

export const cancelUsage = usage('cancel', 'cancel a task', {
  args: '<id>',
  options: TASK_OPTIONS,
  examples: ['cancel 01a20cd2-…'],
});

export const answerUsage = usage('answer', 'answer the question of a task, and watch it on', {
  args: '<id> <text>',
  options: { ...TASK_OPTIONS, detach: flag('do not wait for the task') },
  examples: ['answer 01a20cd2-… "the second one"'],
});

export const costUsage = usage(
  'cost',
  'print the tokens of a task, or what each profile has spent and may still spend',
  {
    args: '[id]',
    options: {
      ...FLEET_OPTIONS,
      profile: text('name', 'the profile to ask; all by default'),
    },
    examples: ['cost 01a20cd2-…', 'cost', 'cost --profile neo'],
  },
);
