import type { ModelStep } from './window-model.ts';

const LINES = 220;

export const LONG_BRIEF = 'Correct the value in each module, and run each of them.';

/** Writes all modules: each has a value to correct, long comments, and prints much and fails until it is corrected. */
const prepare = (modules: number): string => `mkdir -p src; i=1; while [ $i -le ${modules} ]; do
{ echo "value=wrong$i"; seq -f "# module $i line %g keeps what was decided about it" ${LINES};
echo "seq -f \\"module $i reports line %g of its run\\" 120"; echo "[ \\$value = right$i ]"; } > src/m$i.sh; i=$((i+1)); done`;

const NOTES = 60;

/** Comments that the model adds: its own words, which pruning keeps and a summary replaces. */
const notes = (module: number): string =>
  Array.from({ length: NOTES }, (_, line) => `# note ${line} on why module ${module} had a wrong value`).join(
    '\n',
  );

/** A task for a scripted model. */
export interface LongTask {
  /** The steps before its last words. */
  readonly steps: number;
  step(step: number): ModelStep;
}

/**
 * A task in which the model writes modules by one command, and then reads, edits and runs each of them. A read is about
 * 4,000 tokens, an edit about 900, and every third run but the last fails with 120 lines of output.
 */
export const longTask = (modules: number): LongTask => ({
  steps: 3 * modules + 1,
  step(step) {
    if (step === 1) return [['shell_exec', { command: prepare(modules) }]];
    const module = Math.floor((step - 2) / 3) + 1;
    const path = `src/m${module}.sh`;
    if (module > modules)
      return 'All modules are corrected, and each was run.\n```outcome\n{"status":"done"}\n```';
    if (step % 3 === 2) return [['read_file', { path }]];
    if (step % 3 === 0) {
      return [
        ['edit_file', { path, old_text: `wrong${module}`, new_text: `right${module}\n${notes(module)}` }],
      ];
    }
    return [
      ['shell_exec', { command: `sh ${path}${module % 3 === 0 && module < modules ? '; exit 3' : ''}` }],
    ];
  },
});

/** A long task of 61 steps. */
export const { steps: LONG_TASK_STEPS, step: longTaskStep } = longTask(20);
