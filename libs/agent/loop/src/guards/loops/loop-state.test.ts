import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { times } from '../../../testing/acts.ts';
import { type Act, edit, fails, guarded, look, shell } from '../../../testing/guarded.ts';
import type { Guards } from '../../run/guards.ts';
import { GuardState } from '../../run/run-state.ts';

const anyAct: fc.Arbitrary<Act> = fc.oneof(
  fc.constantFrom('a.ts', 'b.ts', 'c.md').map((path) => edit(path)),
  fc.constantFrom('a.ts', 'c.md', 'd.txt').map((path) => look(path)),
  fc.constantFrom('npm test', 'ls', 'npm test | tail', 'sleep 1', 'echo x > a.ts').map((line) => shell(line)),
  fc.constantFrom('npm test', 'make').map((line) => shell(line, 1, 'it failed')),
  fc.constantFrom('a', 'b').map((path) => fails('edit_file', { path }, 'old_text does not occur')),
);

test('a restart changes no decision, and every run without a passing check ends', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAct, { maxLength: 60 }), fc.nat(60), async (acts, at) => {
      const whole = guarded();
      const told: string[] = [];
      const parts: string[] = [];
      let part = guarded();
      for (const [index, act] of acts.entries()) {
        if (index === at) {
          const state = GuardState.parse(JSON.parse(JSON.stringify(part.guards.state())));
          part = guarded({}, { journal: JSON.parse(JSON.stringify(part.journal)) }, state);
        }
        told.push(...(await whole.after(act)));
        parts.push(...(await part.after(act)));
      }
      assert.deepEqual(parts, told);
      const stored = (guards: Guards) => JSON.parse(JSON.stringify(guards.state()));
      assert.deepEqual(stored(part.guards), stored(whole.guards));
      const end = { priority: 'high', reply: 'prose', nudges: 0 } as const;
      assert.equal(part.guards.completionPrompt(end), whole.guards.completionPrompt(end));
    }),
    { numRuns: 200 },
  );
});

test('every run without a passing check or a verifying read ends, and its state stays small', async () => {
  const idle = fc.oneof(
    fc.constantFrom('a.ts', 'b.ts', 'c.ts').map((path) => edit(path)),
    fc.constantFrom('a.ts', 'b.ts').map((path) => look(path)),
    fc.constantFrom('npm test', 'make').map((line) => shell(line, 1, 'it failed')),
    fc.constantFrom('ls', 'npm test | tail').map((line) => shell(line)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(idle, { minLength: 120, maxLength: 120 }), async (acts) => {
      const { after, guards, fired } = guarded();
      await after(...acts);
      assert.ok(guards.state().stop !== undefined);
      assert.ok(fired.length < 30, String(fired.length));
    }),
    { numRuns: 50 },
  );
  const { after, guards } = guarded();
  await after(
    ...times(2000, (at) => edit(`${'long/'.repeat(100)}${at}.ts`)),
    ...times(2000, (at) => look(`${at}`)),
  );
  assert.ok(JSON.stringify(guards.state()).length < 200_000);
});

test('a check that passes after a change leaves no counts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAct, { maxLength: 40 }), async (acts) => {
      const { after, guards } = guarded();
      await after(...acts);
      if (guards.state().loop.settled) await after(edit('new.ts'));
      await after(shell('npm test', 0, '3 passed'));
      const { streak, calls, errors, warned, score } = guards.state().loop;
      assert.deepEqual([streak, errors, warned, score], [undefined, [], [], 0]);
      assert.equal(calls.length, 1);
    }),
    { numRuns: 100 },
  );
});
