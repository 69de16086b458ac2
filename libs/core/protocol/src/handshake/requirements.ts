import { z } from 'zod';
import type { Camel } from '../wire/casing.ts';
import type { JsonObject } from '../wire/json.ts';
import type { Unmet, UnmetKind } from './result.ts';

/** The most names in a list of requirements. */
export const MAX_NAMES = 100;
const names = z.array(z.string().min(1)).max(MAX_NAMES);

const modelTier = z.looseObject({
  min: z.string().optional().describe('Lowest acceptable tier'),
  max: z.string().optional().describe('Highest acceptable tier'),
  prefer: z.string().optional().describe('Preferred tier; not a condition'),
});

/** What a dispatch requires of its worker (docs/handshake.md#task_dispatch). `REQUIREMENTS` has what each field means. */
export const RequirementsWire = z.looseObject({
  required_mcp: names.optional().describe('MCP servers that must be healthy'),
  required_capabilities: names
    .optional()
    .describe('Capabilities that the worker must have, such as terminal or file'),
  model_tier: modelTier.optional().describe('Range of model tiers'),
  min_context_window: z.int().positive().optional().describe('Minimum context window, in tokens'),
});

export type Requirements = Camel<z.output<typeof RequirementsWire>>;

type Shape = typeof RequirementsWire.shape;
/** The fields of the requirements as on the wire, such as `model_tier.min`. */
export type RequirementField = {
  [K in keyof Shape]: Shape[K] extends z.ZodOptional<z.ZodObject<infer Inner>>
    ? `${K}.${Extract<keyof Inner, string>}`
    : K;
}[keyof Shape];

/** What a worker is judged by: of a peer its announce, of the own profile the same facts as they are measured. */
export interface WorkerFacts {
  readonly worker: { readonly modelTier: string; readonly contextWindow: number };
  readonly capabilities: { readonly tools: readonly string[]; readonly mcpServers: readonly string[] };
  readonly mcpHealth: Readonly<Record<string, string>>;
  /** Why a server is not healthy, where that is known. */
  readonly mcpDetail?: Readonly<Record<string, string>>;
  /** The context window is an assumption for now. */
  readonly isWindowPending?: boolean;
}

/** One condition that a worker meets or not. */
export interface Condition {
  readonly kind: UnmetKind;
  /** Its name in `unmet` where no worker can meet it. */
  readonly name: string;
  /** As in `required MCP server "memory"`. */
  readonly what: string;
  /** Allocates nothing for a worker that meets the condition. */
  unmet(facts: WorkerFacts): readonly Unmet[];
  /** True for a worker that has it, but cannot offer it now. Default: that meets the condition. */
  isDeclared?(facts: WorkerFacts): boolean;
}

interface Requirement {
  /** Its conditions; none for a value that every worker meets. `tiers`: of the fleet, smallest first. */
  conditions(all: Requirements, tiers: readonly string[]): readonly Condition[];
  /** Its fields in the event `submitted`, with or without a value (docs/events.md#the-events). */
  event(all: Requirements): JsonObject;
}

/** Every requirement, for the own profile and for peers, in the order of docs/handshake.md#admission. */
const REQUIREMENTS: Readonly<Record<keyof Requirements, Requirement>> = {
  requiredMcp: {
    conditions: ({ requiredMcp = [] }) => distinct(requiredMcp).map(mcpServer),
    event: ({ requiredMcp = [] }) => ({ required_mcp: requiredMcp }),
  },
  requiredCapabilities: {
    conditions: ({ requiredCapabilities = [] }) => distinct(requiredCapabilities).map(capability),
    event: ({ requiredCapabilities = [] }) => ({ required_capabilities: requiredCapabilities }),
  },
  modelTier: {
    conditions: ({ modelTier: { min, max } = {} }, tiers) =>
      min === undefined && max === undefined ? [] : [tierBetween(min, max, tiers)],
    event: ({ modelTier }) => ({ min_tier: modelTier?.min ?? null }),
  },
  minContextWindow: {
    conditions: ({ minContextWindow: tokens }) =>
      tokens === undefined ? [] : [windowOf(tokens, 'min_context_window', 'required')],
    event: ({ minContextWindow }) => ({ min_context_window: minContextWindow ?? null }),
  },
};

const ALL = Object.values(REQUIREMENTS);

/** The conditions of a dispatch, in the order of docs/handshake.md#admission; empty for one that requires nothing. */
export const conditionsOf = (
  requirements: Requirements | undefined,
  tiers: readonly string[],
): readonly Condition[] =>
  requirements ? ALL.flatMap(({ conditions }) => conditions(requirements, tiers)) : [];

/** What the event `submitted` says of the requirements. */
export const requirementsEvent = (requirements: Requirements = {}): JsonObject =>
  Object.assign({}, ...ALL.map(({ event }) => event(requirements)));

/** The brief needs a window of its `tokens`. */
export const windowForBrief = (tokens: number): Condition => windowOf(tokens, 'brief', 'of the brief');

export const MET: readonly Unmet[] = [];

export const unmet = (kind: UnmetKind, name: string, detail: string, transient = false): Unmet[] => [
  { kind, name, detail, transient },
];

/**
 * What a write task lacks where the tree is dirty, which `uncommitted` describes. `isOwned`: an unfinished task may have made the
 * changes, and commits them at its end; else only a person can change that.
 */
export function dirtyTree(branch: string, uncommitted: string, isOwned: boolean): Unmet[] {
  const remedy = isOwned
    ? 'a task that made the changes is unfinished, so wait for its end'
    : 'commit or stash the changes, or send the task with write: false';
  const detail = `the working tree ${uncommitted}, and this is a write task: ${remedy}`;
  return unmet('repo', branch, detail, isOwned);
}

/** Concatenates what is unmet of each item. Allocates nothing where nothing is unmet. */
export function unmetOfEach<T>(items: readonly T[], find: (item: T) => readonly Unmet[]): readonly Unmet[] {
  let all = MET;
  for (const item of items) {
    const found = find(item);
    if (found.length > 0) all = all.length === 0 ? found : [...all, ...found];
  }
  return all;
}

const distinct = (names: readonly string[]): readonly string[] =>
  names.length < 2 ? names : [...new Set(names)];

const mcpServer = (name: string): Condition => ({
  kind: 'mcp',
  name,
  what: `MCP server "${name}"`,
  isDeclared: ({ capabilities }) => capabilities.mcpServers.includes(name),
  unmet({ capabilities, mcpHealth, mcpDetail }) {
    if (!capabilities.mcpServers.includes(name))
      return unmet('mcp', name, `required MCP server "${name}" is not configured`);
    const health = Object.hasOwn(mcpHealth, name) ? mcpHealth[name] : 'unknown';
    if (health === 'ok') return MET;
    const why = mcpDetail?.[name] || health;
    return unmet('mcp', name, `required MCP server "${name}" is not healthy (${why})`, health !== 'disabled');
  },
});

const capability = (name: string): Condition => ({
  kind: 'capability',
  name,
  what: `capability "${name}"`,
  unmet: ({ capabilities }) =>
    capabilities.tools.includes(name)
      ? MET
      : unmet('capability', name, `required capability "${name}" is not available`),
});

/** A tier outside `tiers` is in no range. */
function tierBetween(min: string | undefined, max: string | undefined, tiers: readonly string[]): Condition {
  const range = `${min ?? 'any'} to ${max ?? 'any'}`;
  const lowest = min === undefined ? 0 : tiers.indexOf(min);
  const highest = max === undefined ? tiers.length - 1 : tiers.indexOf(max);
  const allowed = lowest < 0 ? [] : tiers.slice(lowest, highest + 1);
  return {
    kind: 'tier',
    name: range,
    what: `model tier from ${range}`,
    unmet: ({ worker: { modelTier: tier } }) =>
      allowed.includes(tier)
        ? MET
        : unmet('tier', tier, `model tier ${tier} is outside the required ${range}`),
  };
}

const windowOf = (tokens: number, name: string, why: string): Condition => ({
  kind: 'context',
  name: String(tokens),
  what: `context window of ${tokens} tokens`,
  unmet({ worker: { contextWindow: window }, isWindowPending = false }) {
    if (tokens <= window) return MET;
    const has = `${window}${isWindowPending ? ', until the provider of the model can be asked,' : ''}`;
    const detail = `context window ${has} is below the ${tokens} tokens ${why}`;
    return unmet('context', name, detail, isWindowPending);
  },
});
