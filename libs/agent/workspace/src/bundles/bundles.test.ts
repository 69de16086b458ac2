import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundleStore, signal } from '../../testing/bundle-store.ts';
import { bundleOf, type MadeBundle } from '../../testing/bundles.ts';
import { makeOldHistory } from '../../testing/old-history.ts';

const HOUR = 3_600_000;
const never = (): boolean => false;
const ids = (sent: readonly { bundle: string }[]): string[] => sent.map(({ bundle }) => bundle);

test('a bundle is its caller’s alone, and a context that uses it opens it and those that it builds on', async (t) => {
  const { store, checkout, send, dir, files } = await bundleStore(t);
  const first = checkout.bundle(checkout.commit({ a: '1', '.gitattributes': '* text', '.gitmodules': '' }));
  const second = checkout.bundle(checkout.commit({ b: '2' }), first.commit);
  const third = checkout.bundle(checkout.commit({ c: '3' }), second.commit);
  for (const each of [first, second, third]) await send(each);
  await send(first, 'bob');
  assert.deepEqual(
    (await store.sent('ann')).map(({ commit }) => commit).sort(),
    [first, second, third].map(({ commit }) => commit).sort(),
  );
  assert.deepEqual(ids(await store.sent('bob')), [first.bundle]);
  assert.equal(statSync(dir).mode & 0o777, 0o700);
  await assert.rejects(store.use('bob', second.bundle, 'c'), {
    code: 'BUNDLE_REFUSED',
    message: /send it again$/,
  });
  await store.use('ann', second.bundle, 'c');
  for (const { commit, content } of [first, second]) {
    await using opened = await store.open('c', commit);
    assert.deepEqual(readFileSync(opened.path), content);
    assert.equal(opened.bytes, content.length);
  }
  await assert.rejects(store.open('c', third.commit), { code: 'NO_RESULT' });
  await assert.rejects(store.open('d', first.commit), { code: 'NO_RESULT' });
  await assert.rejects(store.use('bob', first.bundle, 'c'), { message: /the checkout of another caller/ });
  assert.equal(files().length, 8, 'a file and a record each');
});

test('a bundle that is not what its sender says is refused, and leaves nothing', async (t) => {
  const { store, checkout, send, files } = await bundleStore(t);
  const base = checkout.commit({ a: '1' });
  const commit = checkout.commit({ b: '2' });
  const good = checkout.bundle(commit);
  const pack = good.content.subarray(good.content.indexOf('PACK'));
  const headed = (...lines: string[]): string => ['# v2 git bundle', ...lines, '\n'].join('\n');
  const ref = `${commit} refs/heads/fleet`;
  const withHeader = (...lines: string[]): MadeBundle => bundleOf(commit, headed(...lines), pack);
  const withPack = (...bytes: Buffer[]): MadeBundle => bundleOf(commit, headed(ref), ...bytes);
  const blob = checkout.git('rev-parse', 'HEAD:a');
  const hugeTree = Buffer.from([0xaf, 0xff, 0xff, 0xff, 0x7f]);
  const cases: [string, MadeBundle, RegExp, Partial<MadeBundle>?][] = [
    ['another SHA-256', good, /has the SHA-256/, { bundle: '0'.repeat(64) }],
    ['another commit', good, /refs\/heads\/fleet alone, with commit/, { commit: base }],
    ['no bundle', bundleOf(commit, pack), /no git bundle of version 2/],
    ['version 3', bundleOf(commit, `# v3 git bundle\n@object-format=sha256\n${ref}\n\n`, pack), /version 2/],
    ['no ref', withHeader(), /alone/],
    ['two refs', withHeader(ref, `${base} refs/heads/other`), /alone/],
    ['two refs of one name', withHeader(ref, ref), /alone/],
    ['a ref with a newline', withHeader(`${commit} refs/heads/x`, 'y'), /version 2/],
    ['another ref', withHeader(`${commit} refs/heads/main`), /alone/],
    ['a huge header', withHeader(...Array(2000).fill(`-${base}`), ref), /at most 64 KiB/],
    ['a header without an end', bundleOf(commit, headed(ref).trim()), /version 2/],
    ['a cut pack', withPack(pack.subarray(0, -30)), /git refuses its objects/],
    ['something behind its pack', withPack(pack, Buffer.from('x')), /git refuses its objects/],
    ['no pack', withPack(Buffer.from('garbage')), /git refuses its objects/],
    ['an empty pack', withPack(), /git refuses its objects/],
    [
      'a tree that is said to have 4 GiB',
      withPack(pack.subarray(0, 12), hugeTree, pack.subarray(12)),
      /[Oo]ut of memory/,
    ],
    ['a commit that is a blob', bundleOf(blob, headed(`${blob} refs/heads/fleet`), pack), /has no commit/],
    [
      'no such commit',
      bundleOf('1'.repeat(40), headed(`${'1'.repeat(40)} refs/heads/fleet`), pack),
      /has no commit/,
    ],
  ];
  for (const [what, made, message, changed] of cases)
    await assert.rejects(send(made, 'ann', changed), { code: 'BUNDLE_REFUSED', message }, what);
  await assert.rejects(send(checkout.bundle(commit, base)), {
    code: 'BUNDLE_LACKS_COMMITS',
    message: /send the whole history$/,
  });
  assert.deepEqual([files(), await store.sent('ann')], [[], []]);
  await send(good);
});

test('an old history that breaks the rules for new objects is taken', async (t) => {
  const { store, checkout, send } = await bundleStore(t);
  await send(checkout.bundle(makeOldHistory(checkout)));
  assert.equal((await store.sent('ann')).length, 1);
});

test('a byte that changed on the way is found, wherever it is', async (t) => {
  const { checkout, send, files } = await bundleStore(t);
  const { content, commit } = checkout.bundle(checkout.commit({ a: 'content' }));
  const at = [
    3,
    20,
    90,
    content.indexOf('PACK') + 9,
    content.length >> 1,
    content.length - 25,
    content.length - 1,
  ];
  for (const index of at) {
    const tampered = Buffer.from(content);
    tampered[index] = (tampered[index] ?? 0) ^ 1;
    const { bundle } = bundleOf(commit, tampered);
    await assert.rejects(
      send({ bundle, commit, content: tampered }),
      { code: 'BUNDLE_REFUSED' },
      String(index),
    );
  }
  assert.deepEqual(files(), []);
});

test('a configured repository has the rest of a history, also of what builds on it', async (t) => {
  const { store, checkout, send } = await bundleStore(t);
  const pushed = checkout.commit({ a: '1' });
  const first = checkout.bundle(checkout.commit({ b: '2' }), pushed);
  await send(first, 'ann', { repository: 'web' });
  const second = checkout.bundle(checkout.commit({ c: '3' }), first.commit);
  await assert.rejects(send(second, 'bob'), { code: 'BUNDLE_LACKS_COMMITS' });
  await send(second);
  assert.deepEqual(
    (await store.sent('ann')).map(({ repository }) => repository),
    ['web', 'web'],
  );
  const third = checkout.bundle(checkout.commit({ d: '4' }), pushed, second.commit);
  await assert.rejects(send(third), { code: 'BUNDLE_LACKS_COMMITS', message: new RegExp(pushed) });
});

test('of two bundles of a commit, the newer one counts, because the repository may lack what the older one builds on', async (t) => {
  const { store, checkout, send, clock } = await bundleStore(t);
  const pushed = checkout.commit({ a: '1' });
  const rewritten = checkout.commit({ b: '2' });
  const tip = checkout.commit({ c: '3' });
  const stale = checkout.bundle(tip, rewritten);
  await send(stale, 'ann', { repository: 'web' });
  await store.use('ann', stale.bundle, 'c');
  clock.advance(1);
  const whole = checkout.bundle(tip, pushed);
  await send(whole, 'ann', { repository: 'web' });
  await store.use('ann', whole.bundle, 'c');
  clock.advance(1);
  await send(checkout.bundle(checkout.commit({ d: '4' }), tip));
  assert.deepEqual(
    (await store.sent('ann')).map(({ chain, fromRepository }) => [chain, fromRepository]),
    [
      [2, [pushed]],
      [1, [pushed]],
      [1, [rewritten]],
    ],
  );
  await using opened = await store.open('c', tip);
  assert.deepEqual(readFileSync(opened.path), whole.content);
});

test('a bundle goes an hour after it was last sent, unless a context uses it or what builds on it', async (t) => {
  const { store, checkout, send, clock } = await bundleStore(t);
  const first = checkout.bundle(checkout.commit({ a: '1' }));
  const second = checkout.bundle(checkout.commit({ b: '2' }), first.commit);
  const other = checkout.bundle(checkout.commit({ c: '3' }));
  for (const each of [first, second, other]) await send(each);
  await store.use('ann', second.bundle, 'c');
  clock.advance(HOUR - 1);
  await store.sweep(never);
  assert.equal((await store.sent('ann')).length, 3);
  await send(other);
  clock.advance(HOUR - 1);
  await store.sweep((contextId) => contextId === 'c');
  assert.equal((await store.sent('ann')).length, 3);
  clock.advance(1);
  await store.sweep((contextId) => contextId === 'c');
  assert.deepEqual(ids(await store.sent('ann')).sort(), [first.bundle, second.bundle].sort());
  assert.deepEqual([...store.contexts()], ['c']);
  await store.use('ann', second.bundle, 'c');
  await store.sweep(never);
  assert.deepEqual([...store.contexts()], ['c'], 'its task is being accepted');
  clock.advance(HOUR);
  await store.sweep(never);
  assert.deepEqual(await store.sent('ann'), []);
});

test('a deleted context takes its bundles along, but none that another one needs', async (t) => {
  const one = await bundleStore(t);
  const { checkout, send } = one;
  const first = checkout.bundle(checkout.commit({ a: '1' }));
  const second = checkout.bundle(checkout.commit({ b: '2' }), first.commit);
  for (const each of [first, second]) await send(each);
  await one.store.use('ann', first.bundle, 'old');
  await one.store.use('ann', second.bundle, 'new');
  assert.equal(await one.store.release('old'), true);
  assert.equal(await one.store.release('old'), false);
  await one.restart();
  assert.equal((await one.store.sent('ann')).length, 2);
  await using open = await one.store.open('new', first.commit);
  assert.equal(await one.store.release('new'), true);
  assert.deepEqual(await one.store.sent('ann'), []);
  assert.deepEqual(readFileSync(open.path), first.content, 'what is being read stays until it is read');
});

test('a caller has so many bundles, of which the unused go first, and is told what to do', async (t) => {
  const { store, checkout, send, clock } = await bundleStore(t, { limits: { bundles: 2 } });
  const [first, second, third] = ['1', '2', '3'].map((a) => checkout.bundle(checkout.commit({ a })));
  assert.ok(first && second && third);
  await send(first);
  clock.advance(1);
  await send(second);
  await send(third, 'bob');
  clock.advance(1);
  await send(third);
  assert.deepEqual(ids(await store.sent('ann')), [third.bundle, second.bundle]);
  for (const each of [second, third]) await store.use('ann', each.bundle, each.commit);
  await assert.rejects(send(first), { code: 'QUEUE_FULL', message: /2 checkouts .* delete contexts/ });
  assert.equal((await store.sent('ann')).length, 2);
  const small = await bundleStore(t, { limits: { bytes: second.content.length + 10 } });
  await small.send(first);
  await small.send(second);
  assert.deepEqual(ids(await small.store.sent('ann')), [second.bundle]);
});

test('nothing is taken while the disk is full', async (t) => {
  let isFull = false;
  const detail = 'the disk is full';
  const unmet = { kind: 'capacity', name: 'disk', detail, transient: true } as const;
  const { store, checkout, send } = await bundleStore(t, { shortage: () => (isFull ? unmet : undefined) });
  const made = checkout.bundle(checkout.commit({ a: '1' }));
  isFull = true;
  await assert.rejects(send(made), { code: 'CAPACITY', message: detail });
  isFull = false;
  await using receiving = await store.receiving();
  writeFileSync(receiving.file, made.content);
  isFull = true;
  await assert.rejects(store.take('ann', made, receiving.file, signal), { code: 'CAPACITY' });
});

test('copies of a bundle that arrive together are one bundle, and an aborted one is none', async (t) => {
  const { store, checkout, send, files } = await bundleStore(t);
  const made = checkout.bundle(checkout.commit({ a: '1' }));
  const aborted = new AbortController();
  await using receiving = await store.receiving();
  writeFileSync(receiving.file, made.content);
  const taking = store.take('ann', made, receiving.file, aborted.signal);
  aborted.abort(new Error('gone'));
  await assert.rejects(taking, { message: 'gone' });
  await Promise.all([send(made), send(made), send(made)]);
  assert.equal((await store.sent('ann')).length, 1);
  assert.deepEqual(files().filter((name) => name.endsWith('.json')).length, 1);
});

test('a crash at any step leaves a whole bundle or none', async (t) => {
  const one = await bundleStore(t);
  const { checkout, send, dir } = one;
  const made = checkout.bundle(checkout.commit({ a: '1' }));
  const next = checkout.bundle(checkout.commit({ b: '2' }), made.commit);
  await send(made);
  await send(next);
  const [folder = ''] = readdirSync(dir).filter((name) => /^[0-9a-f]{40}$/.test(name));
  const path = (name: string): string => join(dir, folder, name);
  const [file, record] = [path(`${next.bundle}.bundle`), path(`${next.bundle}.json`)];
  const whole = readFileSync(record);
  const steps: [string, () => void][] = [
    ['while it arrives', () => renameSync(file, join(dir, 'packs/x'))],
    ['while it is checked', () => mkdirSync(join(dir, 'packs/x.git/objects'), { recursive: true })],
    ['before its record', () => rmSync(record, { force: true })],
    ['while its record is written', () => renameSync(record, `${record}.new`)],
    ['after a power cut in its record', () => writeFileSync(record, whole.subarray(0, 20))],
    ['after a power cut in its file', () => writeFileSync(file, next.content.subarray(0, 99))],
    ['while its base is removed', () => rmSync(path(`${made.bundle}.json`))],
  ];
  for (const [when, crash] of steps) {
    await send(made);
    await send(next);
    crash();
    await one.restart();
    const left = one.files().sort();
    const counts = ids(await one.store.sent('ann')).flatMap((id) => [`${id}.bundle`, `${id}.json`]);
    assert.deepEqual(left, counts.sort(), when);
    assert.deepEqual(readdirSync(join(dir, 'packs')), [], when);
    await send(made);
    await send(next);
    assert.equal((await one.store.sent('ann')).length, 2, when);
  }
});
