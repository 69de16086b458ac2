import type { AdmittedTask, Budget } from '@hermes-fleet/protocol';
import type { Offer } from '../tools/toolbox.ts';
import { environmentLines, filesBlock, projectLine } from './environment.ts';
import {
  CONTINUITY,
  finishingSection,
  identitySection,
  MEMORY,
  peersLine,
  roleSection,
  SCRATCHPAD,
  VERIFICATION,
} from './sections.ts';
import { type FactsOptions, workspaceFacts } from './workspace-facts.ts';

export interface PromptOptions extends FactsOptions {
  /** The text of IDENTITY.md. */
  readonly identity?: string | undefined;
  readonly task: AdmittedTask;
  readonly offer: Offer;
  readonly budget: Pick<Budget, 'limit' | 'remaining'>;
  readonly peers?: string | undefined;
  /** `hooks.verifyBeforeComplete`. */
  readonly verify: boolean;
}

/** About what the smallest budget pays for: the role, two lines of environment, and how to finish. */
export const SHORTEST_PROMPT_CHARS = 700;

/** Of a task's budget, what the parts of the prompt that it could do without may take at each step. */
const SHARE = 1 / 40;
/** A budget below this gets none of them. In tokens. */
const SHORT_BELOW = 8000;
const CHARS_PER_TOKEN = 4;

/**
 * The system prompt of a run (design 3, B1 and B4 to B6): who it is, what is there, and how to finish. It is paid for at
 * every step, so a budget gets of the parts that it could do without, by their worth, what a fortieth of it pays for; a
 * small one none of them. What comes from disk or from peers is capped, and stands where it cannot be taken for ours. To be made once per
 * run. Throws the signal's reason.
 */
export async function systemPrompt(o: PromptOptions): Promise<string> {
  const tools = o.offer.tools.map(({ name }) => name);
  const has = (...names: string[]): boolean => names.every((name) => tools.includes(name));
  const facts = tools.length > 0 ? await workspaceFacts(o) : undefined;
  const verification = o.verify && tools.length > 0 ? VERIFICATION : undefined;
  const byWorth = {
    project: facts && projectLine(facts),
    outstanding: facts?.outstanding,
    verification,
    files: facts && filesBlock(facts),
    peers: o.peers ? peersLine(o.peers) : undefined,
    scratchpad: has('delegate', 'scratchpad_read') ? SCRATCHPAD : undefined,
    memory: has('memory_list', 'memory_read', 'memory_write') ? MEMORY : undefined,
    continuity: has('progress_read', 'progress_update') ? CONTINUITY : undefined,
    identity: o.identity ? identitySection(o.identity) : undefined,
  };
  const { limit = Number.POSITIVE_INFINITY } = o.budget;
  const kept = fitting(byWorth, limit < SHORT_BELOW ? 0 : limit * SHARE * CHARS_PER_TOKEN);
  const environment = [
    '# Environment',
    ...environmentLines({
      task: o.task,
      facts,
      tools,
      leftOut: o.offer.leftOut,
      remainingTokens: o.budget.remaining(),
    }),
    ...[kept.project, kept.peers, kept.scratchpad, kept.memory, kept.files, kept.outstanding],
  ];
  return [
    roleSection(o.profile),
    kept.identity,
    lines(environment),
    kept.continuity,
    kept.verification,
    finishingSection(o.task, verification !== undefined && kept.verification === undefined),
  ]
    .filter((section) => section !== undefined && section !== '')
    .join('\n\n');
}

const lines = (all: readonly (string | undefined)[]): string =>
  all.filter((line) => line !== undefined).join('\n');

/** The parts that fit into this many characters together; an earlier one goes first. */
function fitting<K extends string>(
  parts: Readonly<Record<K, string | undefined>>,
  roomChars: number,
): Partial<Record<K, string>> {
  let room = roomChars;
  const kept: Partial<Record<K, string>> = {};
  for (const name in parts) {
    const text = parts[name];
    if (text === undefined || text.length > room) continue;
    kept[name] = text;
    room -= text.length;
  }
  return kept;
}
