import type { JsonObject } from '@hermes-fleet/protocol';
import { isWriteTask, type Reading } from '@hermes-fleet/protocol/handshake';
import { short } from '../running/short.ts';

const MAX_NAMES = 20;

/**
 * The data of a task's event `submitted` (docs/events.md#the-events): what its contract asks for, and never its brief.
 * Nothing for a dispatch of a version that this profile does not read.
 */
export function submittedData(reading: Reading): JsonObject {
  if (reading.kind === 'foreign') return {};
  const { task, requirements = {}, deadline, routing } = reading.dispatch;
  return {
    priority: task.priority ?? 'normal',
    budget_tokens: task.tokenBudget ?? null,
    deadline: deadline === undefined ? null : short(deadline),
    write: isWriteTask(reading.dispatch),
    target: routing?.target === undefined ? null : short(routing.target),
    required_mcp: names(requirements.requiredMcp),
    required_capabilities: names(requirements.requiredCapabilities),
    min_tier: requirements.modelTier?.min === undefined ? null : short(requirements.modelTier.min),
    min_context_window: requirements.minContextWindow ?? null,
    reply_schema: task.replySchema ?? null,
    on_blocked: routing?.onBlocked ?? null,
  };
}

const names = (of: readonly string[] = []): string[] => of.slice(0, MAX_NAMES).map(short);
