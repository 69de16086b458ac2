import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startProfile } from '../support/lone-profile.ts';
import { startModelServer } from '../support/model-server.ts';
import { call, dispatch, message, resultOf, type Target } from '../support/rpc.ts';

async function resultFor(target: Target, options: Parameters<typeof dispatch>[0]) {
  const { body } = await call(target, 'SendMessage', message(dispatch(options)));
  return resultOf(body?.result?.task);
}

describe('fleet.response_handler', () => {
  it('echo answers through the gateway, without tokens', async (t) => {
    const neo = await startProfile(t, { name: 'neo', fleet: { response_handler: 'echo' } });
    for (const [brief, text] of [
      ['ping', 'pong'],
      ['Say it again.', 'Say it again.'],
      ['word '.repeat(20_000).trim(), 'word '.repeat(20_000).trim()],
    ] as const) {
      const result = await resultFor(neo, { brief, task: { reply_schema: 'prose' } });
      assert.deepEqual([result?.status, result?.text, result?.tokens_spent], ['done', text, 0]);
    }
  });

  it('llm asks the model without tools, and needs no workspace tool', async (t) => {
    const server = await startModelServer(t, 'A haiku about rain.', { input: 700, output: 8 });
    const model = { model: 'openai-compatible/scripted', base_url: server.url, context_window: 32_000 };
    const neo = await startProfile(t, { name: 'neo', fleet: { response_handler: 'llm' }, config: model });
    const task = { reply_schema: 'prose', write: false };
    const result = await resultFor(neo, { brief: 'Write a haiku.', task });
    assert.deepEqual(
      [result?.status, result?.text, result?.tokens_spent],
      ['done', 'A haiku about rain.', 708],
    );
    const needs = { brief: 'Run it.', requirements: { required_capabilities: ['terminal'] } };
    assert.equal((await resultFor(neo, needs))?.status, 'blocked');
  });
});
