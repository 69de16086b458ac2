import type { AdmittedTask, Budget } from '@hermes-fleet/protocol/ports';
import { isSmall, type Offer } from '../tools/toolbox.ts';
import { projectInstructions } from './project-instructions.ts';
import {
  CODING_GUIDANCE,
  CONTINUITY,
  environmentLines,
  filesBlock,
  finishingSection,
  identitySection,
  MEMORY,
  notFollowedLines,
  peersLine,
  projectLine,
  roleSection,
  SCRATCHPAD,
  setUpLines,
  shortEnvironment,
  shortFinishing,
  VERIFICATION,
} from './sections.ts';
import { type FactsOptions, workspaceFacts } from './workspace-facts.ts';

export interface PromptOptions extends FactsOptions {
  readonly identity?: string | undefined;
  readonly task: AdmittedTask;
  readonly offer: Offer;
  readonly budget: Pick<Budget, 'limit' | 'remaining'>;
  readonly peers?: string | undefined;
  /** `hooks.verifyBeforeComplete`. */
  readonly verify: boolean;
}

/** The approximate length of the shortest prompt: the role, a line of environment, and how to finish. */
export const SHORTEST_PROMPT_CHARS = 500;

/** The share of a task's budget that the optional parts of the prompt may take at each step. */
const OPTIONAL_SHARE = 1 / 40;
const CHARS_PER_TOKEN = 4;

/**
 * Builds the system prompt of a run (docs/agent.md#prompt), once per run. Every step pays for it, so the optional parts
 * are added by priority until they take one fortieth of the budget; a small budget gets the short form. Content from disk
 * or from peers is limited in size and marked as data. Throws the signal's reason.
 */
export async function systemPrompt(options: PromptOptions): Promise<string> {
  const { task, offer, budget, identity, peers } = options;
  const tools = offer.tools.map(({ name }) => name);
  if (isSmall(budget.limit)) return shortPrompt(options, tools.length > 0);
  const has = (...names: string[]): boolean => names.every((name) => tools.includes(name));
  const { limit = Number.POSITIVE_INFINITY } = budget;
  const optionalChars = limit * OPTIONAL_SHARE * CHARS_PER_TOKEN;
  const [facts, instructions] =
    tools.length > 0
      ? await Promise.all([workspaceFacts(options), projectInstructions(options, optionalChars / 2)])
      : [];
  const verification = options.verify && tools.length > 0 ? VERIFICATION : undefined;
  const byPriority = {
    project: facts && projectLine(facts),
    setUp: facts && options.workspace.setUp && setUpLines(options.workspace.setUp),
    notFollowed: facts?.notFollowed && notFollowedLines(facts.notFollowed),
    instructions,
    outstanding: facts?.outstanding,
    verification,
    guidance: facts?.project.length && has('shell_exec', 'edit_file') ? CODING_GUIDANCE : undefined,
    files: facts && filesBlock(facts),
    peers: peers ? peersLine(peers) : undefined,
    scratchpad: has('delegate', 'scratchpad_read') ? SCRATCHPAD : undefined,
    memory: has('memory_list', 'memory_read', 'memory_write') ? MEMORY : undefined,
    continuity: has('progress_read', 'progress_update') ? CONTINUITY : undefined,
    identity: identity ? identitySection(identity) : undefined,
  };
  const kept = fitting(byPriority, optionalChars);
  const environment = [
    '# Environment',
    ...environmentLines({
      task,
      facts,
      tools,
      leftOut: offer.leftOut,
      remainingTokens: budget.remaining(),
    }),
    kept.project,
    kept.setUp,
    kept.notFollowed,
    kept.peers,
    kept.scratchpad,
    kept.memory,
    kept.files,
    kept.outstanding,
  ];
  return [
    roleSection(options.profile),
    kept.identity,
    environment.filter((line) => line !== undefined).join('\n'),
    kept.guidance,
    kept.instructions,
    kept.continuity,
    kept.verification,
    finishingSection(task, verification !== undefined && kept.verification === undefined),
  ]
    .filter((section) => section !== undefined && section !== '')
    .join('\n\n');
}

/** The form for a small budget: nothing is read for it, and no line of it can be left out. */
function shortPrompt({ profile, task, budget, verify }: PromptOptions, hasTools: boolean): string {
  return [
    roleSection(profile),
    shortEnvironment({ task, hasTools, remainingTokens: budget.remaining() }),
    shortFinishing(task, verify && hasTools),
  ].join('\n\n');
}

/** Keeps the parts that fit into so many characters together, the first ones first. */
function fitting<K extends string>(
  parts: Readonly<Record<K, string | undefined>>,
  maxChars: number,
): Partial<Record<K, string>> {
  let left = maxChars;
  const kept: Partial<Record<K, string>> = {};
  for (const name in parts) {
    const text = parts[name];
    if (text === undefined || text.length > left) continue;
    kept[name] = text;
    left -= text.length;
  }
  return kept;
}
