import assert from 'node:assert/strict';
import type { Usage } from '@hermes-fleet/protocol/handshake';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import type { AnsweringServer } from './answering.ts';
import type { Transcript } from './transcript.ts';

/** Checks what a transcript says of the calls that came: how many, what they held, and that any provider takes them. */
export function checkRequests(
  { requests: { least, most }, checks }: Transcript,
  { requests, problems }: AnsweringServer,
): void {
  assert.deepEqual(problems, []);
  const count = requests.length;
  assert.ok(count >= least && count <= most, `${count} requests came, not ${least} to ${most}`);
  for (const { first, last, pattern, isThere } of checks) {
    const meant = requests.slice(first - 1, last);
    assert.ok(meant.length > 0, `there is no request ${first}`);
    for (const [index, request] of meant.entries())
      assert.equal(pattern.test(request), isThere, `request ${first + index}: ${pattern}\n${request}`);
  }
}

/** Checks how the run ended, what it said, and its files. */
export function checkResult(
  { ends, says, files }: Transcript,
  result: RunOutcome,
  read: (path: string) => string | undefined,
): void {
  assert.equal(result.status, ends, JSON.stringify(result));
  if (says !== undefined)
    assert.match(
      [result.text, JSON.stringify(result.output), result.error?.message, ...(result.remaining ?? [])].join(
        '\n',
      ),
      says,
    );
  for (const { path, content } of files) {
    const found = read(path);
    if (content === undefined) assert.equal(found, undefined, `${path} is there`);
    else assert.match(found ?? assert.fail(`${path} is missing`), content);
  }
}

/** Checks what was booked for the run. */
export function checkBooked({ booked }: Transcript, usage: Omit<Usage, 'model'>): void {
  const {
    inputTokens,
    cacheReadTokens = 0,
    cacheWriteTokens = 0,
    outputTokens,
    reasoningTokens = 0,
    source,
  } = usage;
  const input = inputTokens + cacheReadTokens + cacheWriteTokens;
  if ('least' in booked) {
    assert.equal(source, 'estimated');
    const total = input + outputTokens;
    assert.ok(total >= booked.least && total <= booked.most, `${total} tokens are booked`);
    return;
  }
  assert.deepEqual(
    { input, output: outputTokens, cached: cacheReadTokens, reasoning: reasoningTokens, source },
    { ...booked, source: 'metered' },
  );
}
