import type { PeerReply, PeerTask } from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import { type Clock, type ToolCall, ToolError, type ToolResult } from '@hermes-fleet/protocol/ports';
import { waitWithoutSlot } from '../tool-support/wait-without-slot.ts';
import type { AgentCallOptions } from './agent-call.ts';
import {
  type A2AToolsOptions,
  type AgentName,
  createDirectory,
  type FindAgent,
  type RemoteAgent,
} from './directory.ts';
import { sendMessage, stateOf } from './send-message.ts';
import type { OutgoingMessage } from './send-once.ts';
import { bookReportedTokens } from './spending.ts';
import { answerResult, noAnswerResult } from './tool-results.ts';

const AGENT_DOWN_AFTER_MS = 60_000;
const QUERY_TIMEOUT_MS = 10_000;
const MAX_CONTEXT_ID = 256;

interface AgentRequest extends OutgoingMessage {
  readonly tool: string;
  readonly agent: AgentName;
}

export type AgentClient = ReturnType<typeof createAgentClient>;

/** Finds remote agents and sends messages to them. Every method throws ToolErrors and the reasons of a call's signals. */
export function createAgentClient(options: A2AToolsOptions) {
  const { clock, log, random = Math.random, agentDownAfterMs = AGENT_DOWN_AFTER_MS } = options;
  const findAgent = createDirectory(options);
  const callOptions: AgentCallOptions = { clock, log, random, agentDownAfterMs };

  return {
    findAgent: ((name, signal) => asToolError(findAgent(name, signal))) satisfies FindAgent,
    async send({ tool, agent: name, ...outgoing }: AgentRequest, call: ToolCall): Promise<ToolResult> {
      const reportProgress = createProgressReporter(call, tool, clock);
      const { agent, outcome } = await asToolError(
        waitWithoutSlot(call, () =>
          sendMessage(callOptions, call, {
            outgoing,
            findAgent: (signal) => findAgent(name, signal),
            onSending: ({ label }, contextId) =>
              call.reportEvent({
                type: 'progress',
                data: { tool, agent: label, agent_context_id: contextId.slice(0, MAX_CONTEXT_ID) },
              }),
            onTask: outgoing.streaming ? reportProgress : async () => undefined,
          }),
        ),
      );
      if (outcome.kind !== 'answered') return noAnswerResult(agent, outcome);
      return answerResult(agent, outcome.reply, await bookReportedTokens(call, agent, outcome.reply));
    },
    async getTask(name: AgentName, taskId: string, call: ToolCall): Promise<ToolResult> {
      const { signal } = call;
      const agent = await asToolError(findAgent(name, signal));
      const request = { timeoutMs: QUERY_TIMEOUT_MS, signal, traceparent: call.task.traceparent };
      const task = await asToolError(agent.client.getTask(agent.endpoint, taskId, request));
      const reply: PeerReply = { kind: 'task', task };
      return answerResult(agent, reply, await bookReportedTokens(call, agent, reply));
    },
  };
}

/** Turns an agent's refusal or absence into a ToolError, which the model sees. */
async function asToolError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const isAgents =
      error instanceof FleetError && (error.code === 'PEER_REFUSED' || error.code === 'PEER_UNREACHABLE');
    throw isAgents ? new ToolError(error.message) : error;
  }
}

const REPORT_EVERY_MS = 1_000;
/** Limits per call: each report is a durable event of the task. */
const MAX_REPORTS = 100;
const MAX_STATE_CHANGES = 20;

/**
 * Reports the progress of an agent's task to our caller: its state and the length of its text, never the text. At most
 * one event a second and 100 in all; the first 20 changes of state are reported at once.
 */
function createProgressReporter(call: ToolCall, tool: string, clock: Clock) {
  let lastAt = Number.NEGATIVE_INFINITY;
  let lastState = '';
  let stateChanges = 0;
  let reports = 0;
  return async (agent: RemoteAgent, task: PeerTask): Promise<void> => {
    const state = stateOf(task);
    const isChange = state !== lastState && stateChanges < MAX_STATE_CHANGES;
    if (reports >= MAX_REPORTS || (!isChange && clock.now() - lastAt < REPORT_EVERY_MS)) return;
    if (isChange) stateChanges += 1;
    reports += 1;
    lastAt = clock.now();
    lastState = state;
    const chars = task.text.length;
    await call.reportEvent({ type: 'progress', data: { tool, agent: agent.label, state, chars } });
  };
}
