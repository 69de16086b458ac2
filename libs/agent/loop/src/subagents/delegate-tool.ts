import {
  type Budget,
  defineTool,
  type RemoteAgents,
  ToolError,
  type ToolResult,
} from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { FOLLOW_UP_TOKENS } from '../conversation/loop-conversation.ts';
import { partOf } from '../conversation/shared-budget.ts';
import { taskMessage } from '../messages/task-message.ts';
import { dataBlock, dataLine } from '../prompt/untrusted-data.ts';
import type { AgentTool, ToolContext } from '../run/conversation.ts';
import { newConversation } from '../run/run-state.ts';
import type { SubagentDefinition } from './definition.ts';
import { type Answer, answerOutput, type Delegation, readDelegation, writeDelegation } from './delegation.ts';
import { conversationOf, runLocal } from './local-agent.ts';
import { runRemote } from './remote-agent.ts';

const MAX_BRIEF_CHARS = 40_000;
const MAX_LISTED = 20;
const MAX_LINE_CHARS = 160;
const REMOTE_WORDS = 2000;
const MIN_WORDS = 100;
/** An answer stays in the caller's conversation, so it may take only this share of the remaining budget. */
const ANSWER_SHARE = 1 / 10;
const TOKENS_PER_WORD = 1.5;
/** The steps that a slice must cover at least: one of work, and one to answer. */
const FIRST_STEPS = 2;

interface DelegateOptions {
  readonly definitions: readonly SubagentDefinition[];
  readonly remotes: RemoteAgents | undefined;
  readonly profile: string;
  /** `subagents.max_steps`. */
  readonly maxSteps: number;
}

/**
 * `delegate` hands work to a sub-agent or a remote agent, and waits for a condensed answer (docs/agent.md#sub-agents). It
 * sees only the brief, has the rights of the task's caller, spends a slice of the budget, and resumes after a restart.
 */
export function delegateTool(options: DelegateOptions): AgentTool {
  const tool = defineTool<typeof Input, ToolContext>({
    name: 'delegate',
    description: '',
    mutates: true,
    repeatable: true,
    isConcurrent: true,
    inputSchema: Input,
    run: (input, call) => delegate(options, input, call),
  });
  return {
    ...tool,
    // A getter, because the list of remote agents changes.
    get description() {
      return describe(options);
    },
  };
}

const Input = z.strictObject({
  agent: z.string(),
  brief: z.string().min(1).max(MAX_BRIEF_CHARS).describe('all that it needs to know'),
  token_budget: z.int().positive().optional().describe('default: a third of what is left'),
});

interface Listed {
  readonly name: string;
  readonly description: string;
}

/** The profile's own agents come first and hide remote agents of the same name. */
function agentsOf({ definitions, remotes }: DelegateOptions): Listed[] {
  const own = new Set(definitions.map(({ name }) => name));
  return [...definitions, ...(remotes?.list() ?? []).filter(({ name }) => !own.has(name))];
}

function describe(options: DelegateOptions): string {
  const agents = agentsOf(options);
  const lines = agents
    .slice(0, MAX_LISTED)
    .map(({ name, description }) => `- ${dataLine(`${name}: ${description}`, MAX_LINE_CHARS)}`);
  const more = agents.length > MAX_LISTED ? [`- and ${agents.length - MAX_LISTED} more`] : [];
  return [
    'Hand a self-contained piece of work to another agent and get its condensed answer. It sees the brief, nothing else of this conversation. Agents:',
    dataBlock('agents', [...lines, ...more]),
  ].join('\n');
}

async function delegate(
  options: DelegateOptions,
  { agent, brief, token_budget: asked }: z.output<typeof Input>,
  call: ToolContext,
): Promise<ToolResult> {
  const saved = call.memo.load();
  const under = saved && readDelegation(saved);
  const isElsewhere = under?.remote !== undefined;
  const definition = isElsewhere ? undefined : options.definitions.find(({ name }) => name === agent);
  if (under?.talk !== undefined && definition === undefined) throw gone(agent);
  // Started remote work continues even if its agent has not been discovered again since a restart.
  const remote =
    definition !== undefined ? undefined : isElsewhere ? options.remotes : remoteOf(options, agent, call);
  const state = under ?? (await begun(call, asked, definition?.maxWords ?? REMOTE_WORDS));
  const save = (): Promise<void> => call.memo.save(writeDelegation(state));
  const { slice_tokens: slice, spent_before: before } = state;
  const budget = slice === undefined ? call.budget : sliceBudget(call.budget, before + slice);
  const sliced = { ...call, budget };

  async function answer(): Promise<Answer> {
    if (remote !== undefined) {
      if (saved === undefined) await save();
      return runRemote({ name: agent, brief, remotes: remote, state, save, call: sliced });
    }
    if (definition === undefined) throw nobody(options, agent);
    const talk = state.talk ?? newConversation(taskMessage(brief));
    state.talk = talk;
    const work = {
      definition,
      profile: options.profile,
      save,
      call: sliced,
      state: Object.assign(state, { talk }),
      maxSteps: definition.maxSteps ?? options.maxSteps,
    };
    if (saved === undefined && !(await conversationOf(work).canAfford(FIRST_STEPS))) throw tooLittle(slice);
    // The conversation saves its start before anything is spent, so that a restart keeps the same slice.
    return runLocal(work);
  }

  const result = await answer();
  return {
    ok: result.status !== 'failed',
    output: answerOutput(agent, result, call.budget.spent() - before),
    detail: agent,
  };
}

/** The remote agents. Throws ToolError if `agent` is not one, or the task's caller may not dispatch. */
function remoteOf(options: DelegateOptions, agent: string, { task }: ToolContext): RemoteAgents {
  const { remotes } = options;
  if (remotes === undefined || !remotes.list().some(({ name }) => name === agent))
    throw nobody(options, agent);
  if (task.caller.scopes.has('dispatch')) return remotes;
  throw new ToolError(
    `${agent} is a remote agent, and the caller of this task lacks the scope dispatch: use the agents of this profile`,
  );
}

function nobody(options: DelegateOptions, agent: string): ToolError {
  const agents = agentsOf(options);
  const names = agents.slice(0, MAX_LISTED).map(({ name }) => dataLine(name, 60));
  if (agents.length > MAX_LISTED) names.push(`${agents.length - MAX_LISTED} more`);
  return new ToolError(`there is no agent ${dataLine(agent, 60)}; there are ${names.join(', ') || 'none'}`);
}

const gone = (agent: string): ToolError =>
  new ToolError(
    `${dataLine(agent, 60)} was removed at a restart, in the middle of this work: check what it has done before you continue`,
  );

const tooLittle = (slice: number | undefined): ToolError =>
  new ToolError(
    `its budget slice of ${slice ?? 0} tokens is too small for two steps: do the work yourself, or finish`,
  );

/** Sets the budget slice and the word limit of new work. Throws ToolError if nothing is left. */
async function begun(call: ToolContext, asked: number | undefined, maxWords: number): Promise<Delegation> {
  const remaining = call.budget.remaining();
  const words = Math.min(
    maxWords,
    Math.max(MIN_WORDS, Math.floor((remaining * ANSWER_SHARE) / TOKENS_PER_WORD)),
  );
  const step = (await call.conversation.inputTokens()) + words * TOKENS_PER_WORD + FOLLOW_UP_TOKENS;
  const slice = sliceTokens({
    remainingTokens: remaining,
    // Besides the shares, the caller has kept its own.
    callerNeedsTokens: call.isShare ? 0 : FIRST_STEPS * step,
    askedTokens: asked ?? (call.isShare && Number.isFinite(remaining) ? remaining : undefined),
  });
  if (slice <= 0) throw tooLittle(0);
  const bounded = Number.isFinite(slice) ? { slice_tokens: slice } : {};
  return { ...bounded, spent_before: call.budget.spent(), max_words: words };
}

const SHARE = 1 / 3;

/** What is asked, or a third of what is left, never what the caller needs to finish. Infinity without any budget. */
export function sliceTokens(options: {
  readonly remainingTokens: number;
  readonly callerNeedsTokens: number;
  readonly askedTokens: number | undefined;
}): number {
  const most = Math.max(0, options.remainingTokens - options.callerNeedsTokens);
  return Math.min(options.askedTokens ?? Math.floor(options.remainingTokens * SHARE), Math.floor(most));
}

/** A budget that ends when the whole task has spent `ceilingTokens`, which survives restarts as the spent tokens do. */
export const sliceBudget = (whole: Budget, ceilingTokens: number): Budget =>
  partOf(whole, { left: () => ceilingTokens - whole.spent(), spent: () => whole.spent(), count: () => {} });
