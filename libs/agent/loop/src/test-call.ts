import { systemClock } from '@hermes-fleet/protocol/ports';
import type { AgentConfig } from './config/config-yaml.ts';
import type { ReadableEnv } from './config/provider-address.ts';
import { callFailure } from './model/call/call-failure.ts';
import type { ReceivedAnswer } from './model/call/call-usage.ts';
import { streamAnswer } from './model/call/stream-answer.ts';
import { createModel } from './model/create-model.ts';

interface TestCall {
  readonly isOk: boolean;
  /** One line without secrets: the time and the tokens of the answer, or why there is none. */
  readonly detail: string;
}

/** Enough for a model that thinks before it says a word. */
const MAX_OUTPUT_TOKENS = 256;

/** Calls the model once: about 20 tokens, no tools, at most 256 out. Throws CONFIG_INVALID if it cannot be created. */
export async function testCall(config: AgentConfig, env: ReadableEnv, timeoutMs: number): Promise<TestCall> {
  const model = await createModel(config, 'none', env);
  const received: ReceivedAnswer = { text: '', usage: undefined };
  const startedAt = performance.now();
  const timeout = AbortSignal.timeout(timeoutMs);
  const request = {
    model,
    instructions: 'You are being tested.',
    messages: [{ role: 'user' as const, content: 'Answer with the word ok.' }],
    tools: () => ({}),
    toolsOff: false,
    signal: timeout,
    onText: () => {},
  };
  try {
    await streamAnswer(request, MAX_OUTPUT_TOKENS, received, systemClock);
  } catch (error) {
    if (timeout.aborted) return { isOk: false, detail: `no answer within ${timeoutMs / 1000} s` };
    const { secrets = [] } = model;
    const failure = callFailure(error, { hasBegun: received.text !== '', now: systemClock.now(), secrets });
    return { isOk: false, detail: failure.error.message };
  }
  const ms = Math.round(performance.now() - startedAt);
  const { input, output } = received.usage ?? {};
  const tokens =
    input === undefined || output === undefined
      ? 'the provider states no usage'
      : `${input} tokens in, ${output} out`;
  return { isOk: true, detail: `answered in ${ms} ms (${tokens})` };
}
