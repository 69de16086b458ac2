import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exclusionReasons, routingQuery } from '@hermes-fleet/peers';
import { announcing, NOW, POLICY } from '@hermes-fleet/peers/testing';
import { McpHealth, type TaskDispatch, type Unmet, type UnmetKind } from '@hermes-fleet/protocol/handshake';
import type { Caller } from '@hermes-fleet/protocol/ports';
import fc from 'fast-check';
import { dirty } from '../../testing/admission.ts';
import type { AdmissionInputs, AdmissionRequest } from './checks.ts';
import { admit } from './checks.ts';

/** The order of docs/handshake.md#admission. An unsupported version is reported alone, before all others. */
const ORDER = [
  'scope',
  'path',
  'deadline',
  'mcp',
  'capability',
  'tier',
  'context',
  'budget',
  'repo',
  'capacity',
] as const satisfies readonly UnmetKind[];
type Failing = Readonly<Partial<Record<(typeof ORDER)[number], boolean>>>;

const SERVERS = ['memory', 'filesystem', 'trek'];
const CAPABILITIES = ['terminal', 'file', 'browser'];
const TIERS = ['haiku', 'sonnet', 'opus'];

/** A request that fails the given checks, and passes all others. */
function requestThat(fails: Failing): AdmissionRequest {
  return {
    caller: { name: 'switch', scopes: new Set(fails.scope ? [] : ['dispatch']) },
    dispatch: {
      type: 'TASK_DISPATCH',
      protocolVersion: '2.0',
      task: {
        taskId: 't',
        path: fails.path ? ['neo'] : ['switch'],
        tokenBudget: fails.budget ? 1 : 500,
        write: true,
      },
      requirements: {
        requiredMcp: fails.mcp ? ['gone'] : ['memory'],
        requiredCapabilities: fails.capability ? ['fly'] : ['file'],
        modelTier: fails.tier ? { min: 'opus' } : { min: 'haiku' },
        minContextWindow: fails.context ? 1_001 : 1_000,
      },
      deadline: new Date(fails.deadline ? NOW : NOW + 1).toISOString(),
      brief: 'do it',
    },
    inputs: {
      ...inputsWith(new Set(SERVERS), new Set(CAPABILITIES), !fails.repo),
      queue: { full: fails.capacity === true, waiting: 0 },
    },
  };
}

function inputsWith(
  healthy: ReadonlySet<string>,
  usable: ReadonlySet<string>,
  clean: boolean,
): AdmissionInputs {
  return {
    ceilings: () => [],
    self: 'neo',
    versions: ['2.0'],
    now: NOW,
    model: { id: 'm', tier: 'sonnet', contextWindow: 1_000 },
    tiers: TIERS,
    capabilities: [...usable],
    mcp: {
      names: () => SERVERS,
      probe: async (name) => ({ state: healthy.has(name) ? 'ok' : 'error', detail: '' }),
    },
    modelWatch: undefined,
    repoState: async () => (clean ? { branch: 'main', clean } : dirty()),
    countTokens: async (text) => text.length,
    minimumBudget: 200,
    queue: { full: false, waiting: 0 },
    shortage: () => undefined,
  };
}

const McpHealthWords = fc.constantFrom(...McpHealth.options);
const failing = fc.record(Object.fromEntries(ORDER.map((kind) => [kind, fc.boolean()])));
const some = (names: readonly string[]) => fc.uniqueArray(fc.constantFrom(...names));

const requirements = fc.record(
  {
    requiredMcp: some([...SERVERS, 'gone']),
    requiredCapabilities: some([...CAPABILITIES, 'fly']),
    modelTier: fc.record(
      { min: fc.constantFrom(...TIERS), max: fc.constantFrom(...TIERS) },
      { requiredKeys: [] },
    ),
    minContextWindow: fc.integer({ min: 1, max: 2_000 }),
  },
  { requiredKeys: [] },
);
// `write` is always present; without it, the required capabilities decide whether a task writes.
const dispatches = fc
  .record({ requirements, write: fc.boolean(), tokenBudget: fc.integer({ min: 1, max: 400 }) })
  .map(
    ({ requirements: wanted, ...task }): TaskDispatch => ({
      type: 'TASK_DISPATCH',
      protocolVersion: '2.0',
      task: { taskId: 't', ...task },
      requirements: wanted,
      brief: 'do it',
    }),
  );
const worlds = fc
  .tuple(some(SERVERS), some(CAPABILITIES), fc.boolean())
  .map(([healthy, usable, clean]) => inputsWith(new Set(healthy), new Set(usable), clean));

const caller: Caller = { name: 'switch', scopes: new Set(['dispatch']) };
const told = (unmet: readonly Unmet[]): string[] => unmet.map(({ kind, name }) => `${kind} ${name}`);

describe('admission, for any dispatch and any state', () => {
  it('names exactly the failed checks, each once, in the documented order', async () => {
    await fc.assert(
      fc.asyncProperty(failing, async (fails) => {
        const kinds = (await admit(requestThat(fails))).map(({ kind }) => kind);
        assert.deepEqual(
          kinds,
          ORDER.filter((kind) => fails[kind]),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('names an unsupported version alone, whatever else fails', async () => {
    await fc.assert(
      fc.asyncProperty(failing, fc.constantFrom('1.0', '3.0', '10.1'), async (fails, protocolVersion) => {
        const request = requestThat(fails);
        const unmet = await admit({ ...request, dispatch: { ...request.dispatch, protocolVersion } });
        assert.deepEqual(told(unmet), [`version ${protocolVersion}`]);
      }),
    );
  });

  it('keeps every unmet requirement when a requirement is added', async () => {
    const further = fc.oneof(
      fc.constantFrom(...SERVERS, 'gone').map((name) => ({ requiredMcp: [name] })),
      fc.constantFrom(...CAPABILITIES, 'fly').map((name) => ({ requiredCapabilities: [name] })),
    );
    await fc.assert(
      fc.asyncProperty(dispatches, worlds, further, async (dispatch, inputs, more) => {
        const { requiredMcp = [], requiredCapabilities = [] } = dispatch.requirements ?? {};
        const asked = {
          ...dispatch.requirements,
          requiredMcp: [...requiredMcp, ...('requiredMcp' in more ? more.requiredMcp : [])],
          requiredCapabilities: [
            ...requiredCapabilities,
            ...('requiredCapabilities' in more ? more.requiredCapabilities : []),
          ],
        };
        const before = told(await admit({ dispatch, caller, inputs: inputs }));
        const after = told(
          await admit({ dispatch: { ...dispatch, requirements: asked }, caller, inputs: inputs }),
        );
        assert.deepEqual(
          before.filter((entry) => !after.includes(entry)),
          [],
        );
      }),
      { numRuns: 300 },
    );
  });

  it('does not depend on the order or the repetition of requirements', async () => {
    await fc.assert(
      fc.asyncProperty(dispatches, worlds, async (dispatch, inputs) => {
        const { requiredMcp = [], requiredCapabilities = [] } = dispatch.requirements ?? {};
        const turned = {
          ...dispatch.requirements,
          requiredMcp: [...requiredMcp.toReversed(), ...requiredMcp],
          requiredCapabilities: [...requiredCapabilities.toReversed(), ...requiredCapabilities],
        };
        const straight = told(await admit({ dispatch, caller, inputs: inputs }));
        const other = told(
          await admit({ dispatch: { ...dispatch, requirements: turned }, caller, inputs: inputs }),
        );
        assert.deepEqual(other.sort(), straight.sort());
      }),
      { numRuns: 300 },
    );
  });

  it('finds what routing finds at a peer that announces the same state', async () => {
    const health = fc.dictionary(fc.constantFrom(...SERVERS), McpHealthWords);
    const state = fc.record({
      health,
      tools: some(CAPABILITIES),
      tier: fc.constantFrom(...TIERS, 'nano'),
      contextWindow: fc.integer({ min: 1, max: 2_000 }),
    });
    const briefs = fc.integer({ min: 1, max: 2_500 }).map((length) => 'x'.repeat(length));
    await fc.assert(
      fc.asyncProperty(requirements, briefs, state, async (required, brief, { health: measured, ...is }) => {
        const dispatch: TaskDispatch = { ...requestThat({}).dispatch, requirements: required, brief };
        const { tier: modelTier, contextWindow, tools } = is;
        const own = await admit({
          dispatch: { ...dispatch, task: { taskId: 't' } },
          caller,
          inputs: {
            ...inputsWith(new Set(), new Set(tools), true),
            model: { id: 'm', tier: modelTier, contextWindow },
            mcp: {
              names: () => Object.keys(measured),
              probe: async (name) => ({ state: measured[name] ?? 'unknown', detail: '' }),
            },
          },
        });
        const peer = announcing('neo', {
          worker: { modelTier, contextWindow },
          capabilities: { tools, mcpServers: Object.keys(measured) },
          mcpHealth: measured,
        });
        const briefTokens = brief.length > contextWindow ? brief.length : 0;
        const query = routingQuery(dispatch, { ...POLICY, tiers: TIERS, briefTokens }, NOW);
        assert.deepEqual(own, exclusionReasons(peer, query));
      }),
      { numRuns: 500 },
    );
  });
});
