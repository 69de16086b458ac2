import type { Caller, Executor, RunContext, RunOutcome } from '@hermes-fleet/protocol/ports';

export const CALLER: Caller = { name: 'operator', scopes: new Set(['announce', 'dispatch', 'read']) };
export const DONE: RunOutcome = {
  status: 'done',
  nextSteps: [],
  blockedReason: null,
  artifacts: { filesChanged: [] },
};

export type Script = (task: Parameters<Executor['run']>[0], context: RunContext) => Promise<RunOutcome>;

/** Runs until it is aborted, and then rejects with the reason, as an executor should. */
export const untilAborted: Script = (_task, { signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/** Asks one question after another; the result is the answers. */
export const asking =
  (...questions: string[]): Script =>
  async (_task, { ask }) => {
    const answers: string[] = [];
    for (const [at, question] of questions.entries()) answers.push(await ask(question, { key: `q${at}` }));
    return { ...DONE, text: answers.join(', ') };
  };
