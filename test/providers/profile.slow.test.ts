import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProfile } from '../support/lone-profile.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';
import { startAnswering } from './answering.ts';
import { checkBooked, checkRequests } from './outcome.ts';
import { BRIEF, MODEL, transcript } from './play.ts';

/** One of each kind: frames, calls, tokens, endings, and what is learnt from refusals. */
const SHOWN = [
  ['frames', 'proxy-not-streamed-call'],
  ['call-ids', 'kimi-ids-repeat-each-turn'],
  ['usage', 'gateway-usage-without-choices-after-a-call'],
  ['endings', 'gateway-promised-call-after-work'],
  ['requests', 'openai-three-refusals-in-turn'],
] as const;

for (const [topic, name] of SHOWN)
  test(`a running profile: ${name}`, { timeout: 120_000 }, async (t) => {
    const script = transcript(topic, name);
    const server = await startAnswering(t, script);
    const config = { ...MODEL, ...script.config, base_url: `${server.url}/v1` };
    const profile = await startProfile(t, { config, env: { MODEL_KEY: 'key-1' } });
    const sent = dispatch({ brief: BRIEF, task: { token_budget: 1_000_000 } });
    const result = resultOf((await call(profile, 'SendMessage', message(sent))).body.result.task);
    checkRequests(script, server);
    assert.equal(result.status, script.ends, JSON.stringify(result));
    assert.deepEqual(result.artifacts.files_changed, ['sum.txt']);
    const { input_tokens: inputTokens, output_tokens: outputTokens, source } = result.usage;
    checkBooked(script, { inputTokens, outputTokens, source });
    assert.equal(result.tokens_spent, inputTokens + outputTokens);
  });
