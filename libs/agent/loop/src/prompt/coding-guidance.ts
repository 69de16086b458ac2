/** How to work on code. docs/agent.md#coding-guidance has the reason for each line, and what shows whether it helps. */
const LINES = [
  'Before you edit, read the code that you change, what calls it, and its tests.',
  'Change what the task needs and nothing else: no reformatting, renaming or cleaning up beside it.',
  'Write like the code around yours, and add no dependency that the task does not ask for.',
  'Fix the cause of a failure. Never weaken, skip or delete a test to make it pass.',
  'After a failure, read its message and the code it names before the next edit.',
  'Run the tests nearest to your change while you work, and all checks of the project at the end.',
  'Update the tests and documents that your change makes wrong.',
  'Remove debugging output and helper files before you finish.',
];

export const CODING_GUIDANCE = ['# Working on Code', ...LINES.map((line) => `- ${line}`)].join('\n');
