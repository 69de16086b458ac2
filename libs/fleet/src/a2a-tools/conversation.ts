import type { PeerReply } from '@hermes-fleet/a2a';
import { FleetError, type ToolCall, ToolError, type ToolResult } from '@hermes-fleet/protocol';
import { parked } from '../fleet-tools/parked.ts';
import { answerResult, noAnswerResult } from './answer.ts';
import type { ChannelParts } from './channel.ts';
import { type AgentName, createDirectory, type Directory } from './directory.ts';
import { exchange } from './exchange.ts';
import type { A2AToolsOptions } from './options.ts';
import { createProgress } from './progress.ts';
import type { Outgoing } from './send.ts';
import { bookSpent } from './spending.ts';

const AGENT_DOWN_AFTER_MS = 60_000;
const ASK_TIMEOUT_MS = 10_000;

/** What a tool wants of an agent. */
export interface Wanted extends Outgoing {
  readonly tool: string;
  readonly agent: AgentName;
}

/** Remote agents, and talking with them. All of it throws ToolErrors, and the reasons of a call's signals. */
export interface Conversation {
  find: Directory['find'];
  say(wanted: Wanted, call: ToolCall): Promise<ToolResult>;
  /** What an agent's task is now. */
  look(agent: AgentName, taskId: string, call: ToolCall): Promise<ToolResult>;
}

export function createConversation(o: A2AToolsOptions): Conversation {
  const directory = createDirectory(o);
  const parts: ChannelParts = {
    clock: o.clock,
    log: o.log,
    random: o.random ?? Math.random,
    agentDownAfterMs: o.agentDownAfterMs ?? AGENT_DOWN_AFTER_MS,
  };

  return {
    find: (named, signal) => told(directory.find(named, signal)),
    async say({ tool, agent: named, ...outgoing }, call) {
      const progress = createProgress(call, tool, o.clock);
      const { agent, exchanged } = await told(
        parked(call, () =>
          exchange(parts, call, {
            outgoing,
            find: (signal) => directory.find(named, signal),
            onTask: outgoing.streaming ? progress : async () => undefined,
          }),
        ),
      );
      if (exchanged.kind !== 'answered') return noAnswerResult(agent, exchanged);
      return answerResult(agent, exchanged.reply, await bookSpent(call, agent, exchanged.reply));
    },
    async look(named, taskId, call) {
      const { signal } = call;
      const agent = await told(directory.find(named, signal));
      const options = { timeoutMs: ASK_TIMEOUT_MS, signal, traceparent: call.task.traceparent };
      const task = await told(agent.client.getTask(agent.endpoint, taskId, options));
      const reply: PeerReply = { kind: 'task', task };
      return answerResult(agent, reply, await bookSpent(call, agent, reply));
    },
  };
}

/** What an agent did or did not is for the model to know. */
async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const isAgents =
      error instanceof FleetError && (error.code === 'PEER_REFUSED' || error.code === 'PEER_UNREACHABLE');
    throw isAgents ? new ToolError(error.message) : error;
  }
}
