import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommitConfig } from './commit-config.ts';

const problemOf = (config: unknown): string => {
  const { path = [], message = 'none' } = CommitConfig.safeParse(config).error?.issues[0] ?? {};
  return [path.join('.'), message].join(': ');
};

test('an author is a name and an address, as git writes them', () => {
  for (const [text, name, email] of [
    ['Acme Bot <bot@acme.example>', 'Acme Bot', 'bot@acme.example'],
    [' "Acme, Inc." <1+acme[bot]@users.example> ', 'Acme, Inc', '1+acme[bot]@users.example'],
    ['Ånn O’Hara <ann@büro.example>', 'Ånn O’Hara', 'ann@büro.example'],
  ])
    assert.deepEqual(CommitConfig.parse({ author: text }).author, { name, email });
});

test('a commit refuses what would be another line, another person, or a line of the gateway', () => {
  const author = 'Acme <bot@acme.example>';
  for (const [config, problem] of [
    [{ author: 'Acme' }, /^author: must be a name and an address: /],
    [{ author: 'bot@acme.example' }, /^author: must be a name/],
    [{ author: '<bot@acme.example>' }, /^author: must be a name/],
    [{ author: ' ." <bot@acme.example>' }, /^author: must be a name/],
    [{ author: 'A <b> <bot@acme.example>' }, /^author: must be a name/],
    [{ author: 'A <bot@acme.example> B' }, /^author: must be a name/],
    [{ author: `A\nB <bot@acme.example>` }, /^author: must be one line/],
    [{ author: `A\0 <bot@acme.example>` }, /^author: must be one line/],
    [{ sign_off: true }, /^sign_off: requires author/],
    [{ signing_key_file: 'a\0b' }, /^signing_key_file: must not contain a null byte/],
    [{ trailers: { 'Two words': 'x' } }, /^trailers.Two words: /],
    [{ trailers: { 'Fleet-task': 'x' } }, /^trailers.Fleet-task: /],
    [{ trailers: { 'signed-off-by': author } }, /^trailers.signed-off-by: /],
    [{ trailers: { Team: 'a\nSigned-off-by: b' } }, /^trailers.Team: must be one line/],
    [{ trailers: { Team: ' ' } }, /^trailers.Team: /],
    [{ author, sign_off: true, trailers: { Team: 'web', 'Change-Id': 'I1' } }, /^: none$/],
  ] as const)
    assert.match(problemOf(config), problem);
});
