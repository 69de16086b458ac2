import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLike } from './assert-like.ts';
import { type Act, guarded, type Hooks } from './guarded.ts';

/** Acts, each as a step, and what the model is told after which of them, counted from 1. */
export interface GuardCase {
  readonly name: string;
  readonly hooks?: Hooks;
  readonly acts: readonly Act[];
  readonly told: Readonly<Record<number, string | RegExp>>;
  readonly fired?: readonly string[];
}

/** Declares a test for each case. A call is refused once a guard has ended the conversation, and only then. */
export function guardCases(cases: readonly GuardCase[]): void {
  for (const { name, hooks, acts, told, fired } of cases)
    test(name, async () => {
      const run = guarded(hooks);
      const notes: Record<number, string> = {};
      for (const [at, act] of acts.entries()) {
        const said = await run.after(act);
        if (said.length > 0) notes[at + 1] = said.join('\n');
      }
      assertLike(notes, told);
      if (fired !== undefined) assert.deepEqual(run.fired, fired);
      const isStopped = Object.values(notes).some((note) => /^stop: /m.test(note));
      const next = run.guards.before({ tool: 'x', input: {}, key: '1', mutates: false });
      assert.equal(next.kind, isStopped ? 'stop' : 'allow');
    });
}
