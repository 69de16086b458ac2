import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { createCsvFeed, MAX_CSV_BYTES } from './csv.ts';
import { createFeed, FeedSchema } from './feed-config.ts';

const never = new AbortController().signal;
const HEAD = 'time,open,high,low,close,volume';
const GOOD = '2026-04-16T20:15:00Z,0.5,0.52,0.49,0.51,100';

function folder(t: TestContext): string {
  const path = tempDir(t);
  return path;
}

function fileOf(t: TestContext, ...lines: string[]): string {
  const file = join(folder(t), 'bars.csv');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

function problems(load: () => unknown): string[] {
  try {
    load();
  } catch (thrown) {
    assert.ok(thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID', String(thrown));
    return thrown.fields.map(({ path, reason }) => `${path} ${reason}`);
  }
  return assert.fail('the file was taken');
}

const load = (file: string) =>
  createCsvFeed({ file, intervalMs: 1_000 }, manualClock(Date.parse('2026-04-16T20:15:00Z')));

describe('a CSV file of bars', () => {
  it('lists every malformed row by its line', (t) => {
    const file = fileOf(
      t,
      `\ufeff${HEAD}`,
      GOOD,
      '2026-04-16T20:16:00Z,0.5,0.52,0.49,0.51',
      '16.04.2026,0.5,0.52,0.49,0.51,100',
      '',
      '2026-04-16T20:17:00Z,1e3,x,-1,0,',
      '2026-04-16T20:15:00Z,0.5,0.52,0.49,0.51,100',
      '2026-04-16T20:18:00Z,0.5,0.50,0.49,0.51,100',
      '2026-04-16T20:19:00Z,0.5,0.52,0.505,0.51,100',
    );
    assert.deepEqual(
      problems(() => load(file)),
      [
        'bars.csv:3 has 5 columns instead of 6',
        'bars.csv:4 time must be a time such as 2026-04-16T20:15:00Z',
        'bars.csv:6 open must be a decimal such as 0.25',
        'bars.csv:6 high must be a decimal such as 0.25',
        'bars.csv:6 low must be a decimal such as 0.25',
        'bars.csv:6 close must be above 0',
        'bars.csv:6 volume must be a decimal such as 0.25',
        'bars.csv:7 time must be after the one before',
        'bars.csv:8 high must not be below another price of the row',
        'bars.csv:9 low must not be above another price of the row',
      ],
    );
  });

  it('lists the first fifty malformed rows and counts the others', (t) => {
    const named = problems(() => load(fileOf(t, HEAD, ...Array.from({ length: 60 }, () => 'x'))));
    assert.equal(named.length, 51);
    assert.equal(named.at(-1), 'bars.csv 10 more rows are malformed');
  });

  it('is refused with other columns, without rows, as invalid CSV, as binary, and if it is missing', (t) => {
    assert.deepEqual(
      problems(() => load(fileOf(t, 'date,price', GOOD))),
      [`bars.csv:1 must be ${HEAD}`],
    );
    assert.deepEqual(
      problems(() => load(fileOf(t, HEAD))),
      ['bars.csv:1 is the only line: add rows'],
    );
    assert.match(
      problems(() => load(fileOf(t, HEAD, GOOD, '"'))).join(),
      /bars\.csv:3 is not valid CSV: Quote Not/,
    );
    const binary = join(folder(t), 'bars.csv');
    writeFileSync(binary, Buffer.from([0xff, 0xfe, 0xfa]));
    assert.deepEqual(
      problems(() => load(binary)),
      ['bars.csv is not UTF-8 text; save it as UTF-8'],
    );
    assert.match(problems(() => load(join(folder(t), 'none.csv'))).join(), /cannot be read \(ENOENT\)/);
    assert.match(problems(() => load(folder(t))).join(), /is not a file/);
  });

  it('is refused if it is too large', (t) => {
    const file = fileOf(t, ' '.repeat(MAX_CSV_BYTES));
    assert.match(problems(() => load(file)).join(), /is larger than 8000000 bytes/);
    for (const end of ['\n', '\r'])
      assert.deepEqual(
        problems(() => load(fileOf(t, HEAD, `x${end}`.repeat(1_000_000)))),
        ['bars.csv:300000 must be the last line: cut the file, or use longer bars'],
      );
    assert.match(problems(() => load(fileOf(t, HEAD, `"${'x'.repeat(2_000)}`))).join(), /Max Record Size/);
  });
});

describe('a feed from a CSV file', () => {
  const bars = [HEAD, GOOD, GOOD.replace('20:15', '20:20'), GOOD.replace('20:15', '21:00')];

  it("plays a bar at each multiple of its interval, regardless of the bars' times, until the end", async (t) => {
    const clock = manualClock(Date.parse('2026-04-16T20:15:00Z'));
    clock.advance(300);
    const config = FeedSchema.parse({ kind: 'csv', file: 'bars.csv', interval_s: 1 });
    const feed = createFeed(config, clock, join(fileOf(t, ...bars), '..'));
    const first = await feed.next(undefined, never);
    assert.deepEqual(
      [first?.at, String(first?.open), String(first?.high), String(first?.low), String(first?.close)],
      [Date.parse('2026-04-16T20:15:00Z'), '0.5', '0.52', '0.49', '0.51'],
    );
    const second = feed.next(first, never);
    await clock.asleep(1);
    clock.advance(700);
    assert.equal((await second)?.at, Date.parse('2026-04-16T20:20:00Z'));
    const third = feed.next(await second, never);
    await clock.asleep(1);
    clock.advance(1_000);
    assert.equal((await third)?.at, Date.parse('2026-04-16T21:00:00Z'));
    assert.equal(await feed.next(await third, never), undefined);
  });

  it('continues at once after the last bar before a restart', async (t) => {
    const file = fileOf(t, ...bars);
    const before = await load(file).next(undefined, never);
    const after = load(file);
    assert.equal((await after.next(before, never))?.at, Date.parse('2026-04-16T20:20:00Z'));
    assert.equal((await after.next(before, never))?.at, Date.parse('2026-04-16T20:20:00Z'));
  });

  it('plays on after at most one interval when the clock is set back during the wait', async (t) => {
    const clock = manualClock(Date.parse('2026-04-16T20:15:00Z'));
    const feed = createCsvFeed({ file: fileOf(t, ...bars), intervalMs: 1_000 }, clock);
    const first = await feed.next(undefined, never);
    const second = feed.next(first, never);
    await clock.asleep(1);
    clock.set(-3_600_000);
    clock.advance(1_000);
    await clock.asleep(1);
    clock.advance(1_000);
    assert.ok((await second)?.at);
  });

  it('rejects with the reason of a signal', async (t) => {
    const feed = load(fileOf(t, ...bars));
    await assert.rejects(feed.next(undefined, AbortSignal.abort(new Error('enough'))), /enough/);
  });
});

describe('the configuration of a feed', () => {
  it('has defaults', () => {
    assert.deepEqual(FeedSchema.parse({ kind: 'synthetic', start_price: '0.5' }), {
      kind: 'synthetic',
      seed: 1,
      start_price: '0.5',
      volatility_bps: 20,
      interval_s: 5,
    });
  });

  for (const [wrong, path] of [
    [{ kind: 'live' }, 'kind'],
    [{ kind: 'synthetic', start_price: 0.5 }, 'start_price'],
    [{ kind: 'synthetic', start_price: '0' }, 'start_price'],
    [{ kind: 'synthetic', start_price: '0.5', seed: -1 }, 'seed'],
    [{ kind: 'synthetic', start_price: '0.5', interval_s: 0 }, 'interval_s'],
    [{ kind: 'csv', file: '' }, 'file'],
    [{ kind: 'csv', file: 'x.csv', seed: 1 }, ''],
  ] as const)
    it(`refuses ${JSON.stringify(wrong)}`, () => {
      const { error } = FeedSchema.safeParse(wrong);
      assert.equal(error?.issues[0]?.path.join('.'), path);
    });
});
