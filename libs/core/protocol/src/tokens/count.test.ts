import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { countTokens as exactCount } from 'gpt-tokenizer/encoding/o200k_base';
import { countTokens } from './index.ts';

const run = promisify(execFile);
const exact = (text: string): number => exactCount(text, { disallowedSpecial: new Set() });

describe('countTokens', () => {
  for (const [text, tokens] of [
    ['', 0],
    ['hello world', 2],
    ['ping', 1],
    ['漢字', 2],
  ] as const) {
    it(`counts ${JSON.stringify(text)} as ${tokens}`, async () => {
      assert.equal(await countTokens(text), tokens);
    });
  }

  it('counts special tokens as plain text', async () => {
    assert.ok((await countTokens('<|endoftext|>')) > 1);
  });

  it('agrees with the tokenizer on short texts of every kind', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 250 }), async (text) => {
        assert.equal(await countTokens(text), exact(text));
      }),
    );
  });

  it('agrees with the tokenizer on prose of 60 k characters', async () => {
    const text = 'Refactor the auth module: focus on token refresh (and its 12 tests).\n'.repeat(880);
    assert.equal(await countTokens(text), exact(text));
  });

  for (const [name, unit] of [
    ['letters', 'a'],
    ['blanks', ' '],
    ['newlines', '\n'],
    ['digits', '7'],
    ['ideographs', '漢'],
    ['emoji', '🚀'],
    ['slashes and newlines', '/\n'],
  ] as const) {
    it(`counts an unbroken megabyte of ${name} in bounded time, at most slightly too high`, {
      timeout: 60_000,
    }, async () => {
      const perRun = await countTokens(unit.repeat(250));
      const text = unit.repeat(Math.floor(1_000_000 / unit.length));
      const tokens = await countTokens(text);
      assert.ok(tokens > 0);
      assert.ok(tokens <= (text.length / unit.length / 100) * (perRun + 1), `${tokens} tokens`);
    });
  }

  it('lets other work run while it counts a long text', async () => {
    let turns = 0;
    let counting = true;
    const tick = (): void => {
      turns += 1;
      if (counting) setImmediate(tick);
    };
    setImmediate(tick);
    await countTokens('the quick brown fox jumps over the lazy dog. '.repeat(30_000));
    counting = false;
    assert.ok(turns >= 10, `${turns} turns`);
  });

  it('loads the tokenizer on first use, not at import', async () => {
    const script = `
      const { countTokens } = await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)});
      const before = process.memoryUsage().rss;
      await countTokens('a');
      console.log(process.memoryUsage().rss - before);`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script]);
    assert.ok(Number(stdout) > 20_000_000, `first use took ${stdout.trim()} bytes`);
  });
});
