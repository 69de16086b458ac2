import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { budgetOf, metered } from '../../testing/budget-of.ts';
import { hasCode } from '../../testing/index.ts';
import type { BoundedReservation, TaskBudget } from './budget.ts';

/** The expected account: the open calls, and the sums of finished ones. */
interface Model {
  readonly limit: number | undefined;
  open: { readonly call: BoundedReservation; readonly input: number }[];
  input: number;
  output: number;
  delegated: number;
  /** Reservations of crashed processes: nobody can settle them. */
  lost: { readonly input: number; readonly output: number }[];
  /** Tokens above an estimate, or from peers, since the ceiling last admitted a call. */
  unforeseen: number;
}

interface World {
  budget: TaskBudget;
  readonly account: ReturnType<typeof budgetOf>;
}

const size = fc.nat({ max: 600 });
const INVALID_COUNTS = [
  1e308,
  -1,
  Number.NaN,
  0.5,
  1e9 + 0.1,
  Number.POSITIVE_INFINITY,
  Number.MAX_SAFE_INTEGER,
];
/** The difference between the metered and the reserved tokens. */
const drift = fc.integer({ min: -600, max: 600 });

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('reserve' as const), input: size, output: size }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('settle' as const), which: size, input: drift, output: drift }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delegated' as const), tokens: size }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('invalid' as const), tokens: fc.constantFrom(...INVALID_COUNTS) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('disk full' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function take(step: Step, world: World, model: Model): Promise<void> {
  const { budget, account } = world;
  switch (step.do) {
    case 'reserve': {
      const left = budget.remaining();
      const call = await budget
        .reserve({ inputTokens: step.input, maxOutputTokens: step.output })
        .catch((error) => {
          assert.ok(hasCode('BUDGET_EXHAUSTED')(error), String(error));
          assert.ok(step.input + Math.min(1, step.output) > left, 'a call that fits was rejected');
        });
      if (!call) return;
      assert.equal(call.maxOutputTokens, Math.min(step.output, left - step.input));
      model.open.push({ call, input: step.input });
      model.unforeseen = 0;
      return;
    }
    case 'settle': {
      const [chosen] = model.open.splice(step.which % Math.max(1, model.open.length), 1);
      if (!chosen) return;
      const input = Math.max(0, chosen.input + step.input);
      const output = Math.max(0, chosen.call.maxOutputTokens + step.output);
      await chosen.call.settle(metered(input, output));
      model.input += input;
      model.output += output;
      model.unforeseen += Math.max(0, input + output - chosen.input - chosen.call.maxOutputTokens);
      return;
    }
    case 'delegated':
      await budget.addDelegated(step.tokens);
      model.delegated += step.tokens;
      model.unforeseen += step.tokens;
      return;
    case 'invalid':
      // With one token on the account, the largest safe integer is too much as well.
      await budget.addDelegated(1);
      model.delegated += 1;
      model.unforeseen += 1;
      await assert.rejects(budget.addDelegated(step.tokens), hasCode('INTERNAL'));
      return;
    case 'crash':
      model.lost.push(...model.open.map(({ call, input }) => ({ input, output: call.maxOutputTokens })));
      model.open = [];
      world.budget = account.reopen();
      return;
    case 'disk full':
      account.failNext(new Error('disk full'));
      await assert.rejects(budget.addDelegated(1), /disk full/);
  }
}

function check(budget: TaskBudget, model: Model): void {
  const unsettled = [
    ...model.lost,
    ...model.open.map(({ call, input }) => ({ input, output: call.maxOutputTokens })),
  ];
  const input = unsettled.reduce((sum, each) => sum + each.input, model.input);
  const output = unsettled.reduce((sum, each) => sum + each.output, model.output);
  const spent = input + output + model.delegated;
  assert.equal(budget.spent(), spent);
  const usage = budget.usage();
  assert.deepEqual(
    [usage.inputTokens, usage.outputTokens, usage.delegatedTokens],
    [input, output, model.delegated],
  );
  if (unsettled.length > 0) assert.equal(usage.source, 'estimated');
  const { limit } = model;
  assert.equal(
    budget.remaining(),
    limit === undefined ? Number.POSITIVE_INFINITY : Math.max(0, limit - spent),
  );
  if (limit !== undefined) assert.ok(spent <= limit + model.unforeseen, `${spent} of ${limit}`);
}

it('an account is always exact, and exceeds its ceiling only by unforeseen tokens', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.option(fc.integer({ min: 1, max: 5_000 }), { nil: undefined }),
      async (steps, limit) => {
        const account = budgetOf(limit);
        const world: World = { budget: account.budget, account };
        const model: Model = {
          limit,
          open: [],
          lost: [],
          input: 0,
          output: 0,
          delegated: 0,
          unforeseen: 0,
        };
        for (const each of steps) {
          await take(each, world, model);
          check(world.budget, model);
          check(account.reopen(), model);
        }
      },
    ),
    { numRuns: 400 },
  );
});
