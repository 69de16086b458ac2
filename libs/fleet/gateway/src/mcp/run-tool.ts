import { createHash } from 'node:crypto';
import { isTerminal, type Ledger, type Question, type TaskRecord } from '@hermes-fleet/ledger';
import { CALL_CANCELED, type McpCall, type McpOrigin } from '@hermes-fleet/mcp/server';
import type { PeerRegistry } from '@hermes-fleet/peers';
import { FleetError, HANDSHAKE_MEDIA_TYPE, type JsonObject } from '@hermes-fleet/protocol';
import type { Clock, Ids, Log } from '@hermes-fleet/protocol/ports';
import { requireScope } from '@hermes-fleet/service';
import { describePeers } from '../fleet-tools/fleet-peers.ts';
import type { Gateway } from '../gateway.ts';
import { decisionView } from '../http/routes.ts';
import { awaitTask } from './progress.ts';
import { DispatchInput, dispatchOf, RouteInput, readToolArguments } from './task-input.ts';
import { ownTask, taskLine, taskReport } from './task-report.ts';
import { AnswerInput, CancelInput, PeersInput, TaskInput, TasksInput } from './tools.ts';

export interface FleetMcpToolsOptions {
  readonly profile: string;
  readonly gateway: Pick<Gateway, 'accept' | 'cancel' | 'explain' | 'spending'>;
  readonly peers: Pick<PeerRegistry, 'list'>;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Cache reads and writes count as spent. */
  readonly countCache: boolean;
}

/** Runs a tool of POST /mcp for its caller, and returns its structured content. Throws a FleetError. */
export type RunFleetMcpTool = (
  call: McpCall,
  origin: McpOrigin,
) => Promise<Readonly<Record<string, unknown>>>;

/**
 * The tools of POST /mcp (docs/mcp.md#tools). A task that comes this way is like one that comes by A2A: the same intake,
 * idempotency, limits and ledger. Callers see their own tasks only.
 */
export function createFleetMcpTools(options: FleetMcpToolsOptions): RunFleetMcpTool {
  const { profile, gateway, peers, ledger, clock, ids, log, countCache } = options;
  const costs = { ledger, countCache, defaultBudget: gateway.spending.defaultBudget };
  const report = (task: TaskRecord): JsonObject => taskReport(task, costs);

  async function wait(
    id: string,
    waitS: number,
    { progress }: McpCall,
    { caller, signal }: McpOrigin,
  ): Promise<JsonObject> {
    const waiting = { ...costs, clock, log };
    await awaitTask(waiting, id, { waitMs: waitS * 1000, signal, progress });
    return report(ownTask(ledger, id, caller.name));
  }

  async function cancel(id: string, { caller }: McpOrigin): Promise<void> {
    try {
      await gateway.cancel(id, caller);
    } catch (error) {
      // It ended first: its result stands.
      if (!(error instanceof FleetError && error.code === 'TASK_NOT_CANCELABLE')) throw error;
    }
  }

  async function dispatch(call: McpCall, origin: McpOrigin): Promise<JsonObject> {
    const { caller, traceparent, signal } = origin;
    requireScope(caller, 'dispatch');
    const input = readToolArguments('fleet_dispatch', DispatchInput, call.input);
    const { task_id: taskId = ids.uuid(), context_id: contextId, wait_s: waitS, ...contract } = input;
    const messageId = ids.uuid();
    const data = dispatchOf(contract, taskId);
    const mediaType = HANDSHAKE_MEDIA_TYPE;
    const accepted = await gateway.accept(
      {
        messageId,
        contextId,
        taskId: undefined,
        text: '',
        data: [{ data, mediaType }],
        raw: {
          messageId,
          role: 'ROLE_USER',
          ...(contextId !== undefined && { contextId }),
          parts: [{ data, mediaType }],
        },
        traceparent,
      },
      caller,
    );
    if (accepted.kind !== 'task') throw new FleetError('INTERNAL', 'a dispatch was answered without a task');
    const id = accepted.taskId;
    const answer = await wait(id, waitS, call, origin);
    if (signal.reason !== CALL_CANCELED) return answer;
    await cancel(id, origin);
    return report(ownTask(ledger, id, caller.name));
  }

  async function answer(call: McpCall, origin: McpOrigin): Promise<JsonObject> {
    const { caller, traceparent } = origin;
    requireScope(caller, 'dispatch');
    const input = readToolArguments('fleet_answer', AnswerInput, call.input);
    const { id, question, text, wait_s: waitS } = input;
    const { contextId } = ownTask(ledger, id, caller.name);
    // The same answer to the same question is a copy, which changes nothing.
    const messageId = `mcp-${createHash('sha256').update(`${id}:${question}:${text}`).digest('hex')}`;
    requireCurrent(ledger.questions(id), question, messageId);
    const raw = { messageId, role: 'ROLE_USER', contextId, taskId: id, parts: [{ text }] };
    await gateway.accept({ messageId, contextId, taskId: id, text, data: [], raw, traceparent }, caller);
    return wait(id, waitS, call, origin);
  }

  const tools: Readonly<Record<string, RunFleetMcpTool>> = {
    fleet_dispatch: dispatch,
    fleet_answer: answer,
    async fleet_task(call, origin) {
      requireScope(origin.caller, 'read');
      const { id, wait_s: waitS } = readToolArguments(call.tool, TaskInput, call.input);
      const task = ownTask(ledger, id, origin.caller.name);
      return waitS > 0 ? wait(id, waitS, call, origin) : report(task);
    },
    async fleet_tasks({ tool, input }, { caller }) {
      requireScope(caller, 'read');
      const { states, context_id, page_size, page_token } = readToolArguments(tool, TasksInput, input);
      const page = ledger.list({
        caller: caller.name,
        ...(states && { states }),
        ...(context_id !== undefined && { contextId: context_id }),
        ...(page_token !== undefined && { pageToken: page_token }),
        pageSize: page_size,
      });
      const { totalSize, nextPageToken } = page;
      return { tasks: page.tasks.map(taskLine), total: totalSize, next_page_token: nextPageToken };
    },
    async fleet_cancel({ tool, input }, origin) {
      requireScope(origin.caller, 'dispatch');
      const { id } = readToolArguments(tool, CancelInput, input);
      const { state } = ownTask(ledger, id, origin.caller.name);
      if (!isTerminal(state)) await cancel(id, origin);
      return report(ownTask(ledger, id, origin.caller.name));
    },
    async fleet_peers({ tool, input }, { caller }) {
      requireScope(caller, 'read');
      readToolArguments(tool, PeersInput, input);
      return { profile, ...describePeers(peers, clock.now()) };
    },
    async fleet_route({ tool, input }, { caller }) {
      requireScope(caller, 'read');
      const contract = readToolArguments(tool, RouteInput, input);
      return decisionView(await gateway.explain(dispatchOf(contract, ids.uuid())));
    },
  };

  return (call, origin) => {
    const run = tools[call.tool];
    if (!run) throw new FleetError('INTERNAL', `the listed tool ${call.tool} does not exist`);
    return run(call, origin);
  };
}

/** Throws INVALID_PARAMS unless the answer is for the last question, or a copy of an earlier answer. */
function requireCurrent(questions: readonly Question[], number: number, messageId: string): void {
  if (number === questions.length || questions[number - 1]?.answer?.messageId === messageId) return;
  const last = questions.length === 0 ? 'it has asked nothing' : `its last question is ${questions.length}`;
  const reason = `is not the question that the task waits for: ${last}`;
  throw new FleetError('INVALID_PARAMS', `question ${reason}; fleet_task shows the question`, {
    fields: [{ path: 'question', reason }],
  });
}
