import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeBrowser, needsChromium, openPage } from '../../testing/web/browser.ts';
import { TOKEN } from '../../testing/web/stub-console.ts';
import { MARKUP } from '../../testing/web/tasks-fixture.ts';
import type { FleetDocument } from '../http/fleet.ts';

after(closeBrowser);

for (const path of ['fleet', 'blocked', 'spending', 'trader'])
  test(`${path}: names with markup stay text, and news appear without a reload`, needsChromium, async (t) => {
    const { page, stub, faults } = await openPage(t, { at: `/#/${path}` });
    await page.locator('main', { hasText: MARKUP }).waitFor();
    assert.equal(await page.locator('main img, main b').count(), 0);
    const document = JSON.stringify(stub.state.documents[`/api/${path}`]);
    stub.state.documents[`/api/${path}`] = JSON.parse(
      document.replaceAll(JSON.stringify(MARKUP).slice(1, -1), 'renamed'),
    );
    stub.changed({ views: [path as 'fleet'] });
    await page.getByText('renamed').first().waitFor();
    assert.equal(faults.join('\n'), '');
  });

test('the fleet shows who is silent, and what is not healthy', needsChromium, async (t) => {
  const { page } = await openPage(t, { at: '/#/fleet' });
  await page.getByText('not: trinity', { exact: true }).first().waitFor();
  await page.getByText(`not: ${MARKUP} of neo`).waitFor();
  await page.getByText('7 of 16').waitFor();
  const trinity = page.getByRole('row', { name: /trinity/ });
  await trinity.getByText('silent').waitFor();
  await trinity.getByText('opus, 200K tokens, unreachable').waitFor();
  await trinity.getByText('open', { exact: true }).waitFor();
  const morpheus = page.getByRole('row', { name: /morpheus/ });
  for (const words of ['3 of 50 queued', 'web, api', '1 tool'])
    await morpheus.getByText(words, { exact: true }).waitFor();
});

test(
  'members that are away come first in the fleet, also when one falls silent',
  needsChromium,
  async (t) => {
    const { page, stub } = await openPage(t, { at: '/#/fleet' });
    const rows = page.getByRole('table', { name: 'Members of the fleet' }).locator('tbody strong');
    await rows.first().waitFor();
    assert.deepEqual(await rows.allTextContents(), ['trinity', 'switch', 'morpheus', 'neo', 'trader']);
    const fleet = stub.state.documents['/api/fleet'] as FleetDocument;
    const silentSince = new Date(Date.now() - 3_600_000).toISOString();
    stub.state.documents['/api/fleet'] = {
      peers: fleet.peers.map((peer) =>
        peer.name === 'neo' ? { ...peer, announced_at: silentSince } : { ...peer, ready: true },
      ),
    };
    stub.changed({ views: ['fleet'] });
    await page.getByRole('row', { name: /neo/ }).getByText('silent').waitFor();
    assert.deepEqual((await rows.allTextContents()).slice(0, 2), ['neo', 'trinity']);
  },
);

test('the router says who would get a task, once a token is given', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, { at: '/#/fleet' });
  await page.getByLabel('Required MCP servers').fill('filesystem, memory');
  await page.getByLabel('Smallest tier').selectOption('sonnet');
  await page.getByRole('button', { name: 'Ask the router' }).click();
  await page.getByRole('dialog').getByLabel('Token').fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.getByText('It would go to morpheus now.').waitFor();
  await page.getByText(`MCP server ${MARKUP} is not declared`).waitFor();
  const asked = stub.sent.at(-1)?.body as { dispatch: { requirements: unknown } } | undefined;
  assert.deepEqual(asked?.dispatch.requirements, {
    required_mcp: ['filesystem', 'memory'],
    model_tier: { min: 'sonnet' },
  });
});

test('a dispatch that the router was asked about goes on to Send', needsChromium, async (t) => {
  const { page } = await openPage(t, { at: '/#/fleet' });
  await page.getByText('known: ').waitFor();
  await page.getByLabel('Required MCP servers').fill('memory');
  await page.getByLabel('Smallest context window').fill('200000');
  await page.getByRole('button', { name: 'Take it to Send' }).click();
  await page.getByRole('heading', { name: 'Send', exact: true }).waitFor();
  assert.equal(await page.getByLabel('Required MCP servers').inputValue(), 'memory');
  assert.equal(await page.getByLabel('Smallest context window').inputValue(), '200000');
  assert.equal(await page.getByLabel('Brief').inputValue(), '');
});

test('a dispatch is checked, asked about, and sent under one name', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, {
    at: '/#/send',
    prepare: ({ state }) => Object.assign(state, { caller: 'operator' }),
  });
  await page.getByLabel('Token budget').fill('many');
  await page.getByRole('button', { name: 'Send the task' }).click();
  await page.getByText('Say what is to be done.').waitFor();
  await page.getByText('A whole number of tokens').waitFor();
  assert.deepEqual(stub.sent, []);

  await page.getByLabel('Brief').fill(`Write a haiku. ${MARKUP}`);
  await page.getByLabel('Token budget').fill('20000');
  await page.getByLabel('Branch to start from').fill('main');
  await page.getByRole('button', { name: 'Where would it go?' }).click();
  await page.getByText('Choose its repository, or nothing.').waitFor();
  await page.getByLabel('Repository').selectOption('web');
  await page.getByLabel('Deadline in minutes').fill('30');
  await page.getByRole('button', { name: 'Where would it go?' }).click();
  await page.getByText('It would go to morpheus now.').waitFor();
  stub.state.failWith = 502;
  await page.getByRole('button', { name: 'Send the task' }).click();
  await page.getByRole('alert').waitFor();
  stub.state.failWith = null;
  await page.getByRole('button', { name: 'Send the task' }).click();
  await page.getByRole('heading', { name: 'refactor-auth-module' }).waitFor();

  type Sent = {
    dispatch: { brief: string; deadline: string; task: Record<string, unknown>; requirements?: unknown };
  };
  const sent = stub.sent.map(({ path, body }) => ({ path, ...(body as Sent).dispatch }));
  assert.deepEqual(
    sent.map(({ path }) => path),
    ['/api/route', '/api/send', '/api/send'],
  );
  assert.equal(new Set(sent.map(({ task }) => task['task_id'])).size, 1, 'a repeated send is another task');
  const last = sent.at(-1);
  assert.equal(last?.brief, `Write a haiku. ${MARKUP}`);
  assert.deepEqual(
    { ...last?.task, task_id: '' },
    {
      task_id: '',
      priority: 'normal',
      reply_schema: 'prose',
      token_budget: 20_000,
      repository: { name: 'web', base: 'main' },
    },
  );
  assert.deepEqual(last?.requirements, { required_capabilities: ['repository:web'] });
  const minutes = (Date.parse(last?.deadline ?? '') - Date.now()) / 60_000;
  assert.ok(minutes > 29 && minutes <= 30.1, `${minutes} min`);
});

test('a task that is sent again begins with its brief, as a new task', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, {
    at: '/#/tasks',
    prepare: ({ state }) => Object.assign(state, { caller: 'operator' }),
  });
  await page.getByRole('link', { name: 'haiku' }).click();
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('those of haiku. It becomes a new task.').waitFor();
  assert.match(await page.getByLabel('Brief').inputValue(), /Refactor the auth module/);
  assert.equal(
    await page.getByLabel('Token budget').inputValue(),
    String(stub.state.tasks[5]?.budget_tokens),
  );
  assert.equal(await page.getByLabel('Required MCP servers').inputValue(), 'filesystem, memory');
  const others = [
    'Smallest tier',
    'Smallest context window',
    'Reply',
    'When a peer refuses',
    'Deadline in minutes',
    'Repository',
    'Branch to start from',
    'Required capabilities',
  ];
  const values = await Promise.all(
    others.map((label) => page.getByLabel(label, { exact: true }).inputValue()),
  );
  assert.deepEqual(values, ['sonnet', '32000', 'structured', 'fail', '2', 'docs', 'release/1.2', 'file']);
  assert.doesNotMatch(page.url(), /Refactor/);
});

test('the trader says when its audit is not sound', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, { at: '/#/trader' });
  await page.getByText('sound', { exact: true }).waitFor();
  const document = stub.state.documents['/api/trader'] as { audit: object };
  document.audit = { ...document.audit, sound: false, reason: 'the head went back from 400 to 310' };
  stub.changed({ views: ['trader'] });
  await page.getByRole('alert').getByText('the head went back from 400 to 310').waitFor();
});

test('views without anything to show say what to do', needsChromium, async (t) => {
  const { page } = await openPage(t, {
    at: '/#/fleet',
    prepare: ({ state }) =>
      Object.assign(state, {
        documents: {
          '/api/fleet': { peers: [] },
          '/api/blocked': {
            bucket_s: 60,
            buckets: [],
            ended: 0,
            blocked: 0,
            tokens_saved: 0,
            reasons: [],
            missing: [],
          },
          '/api/spending': {
            bucket_s: 60,
            keys: [],
            buckets: [],
            totals: [],
            currency: null,
            unpriced: [],
            trees: [],
          },
          '/api/trader': {
            concerns: [],
            bucket_s: 60,
            buckets: [],
            refusals: [],
            decisions: [],
            audit: null,
          },
        },
      }),
  });
  await page.getByText('Start the fleet with').waitFor();
  for (const [name, text] of [
    ['Blocked', 'No task has ended in this time.'],
    ['Spending', 'No token was spent in this time.'],
    ['Trader', 'Nothing is known of a trader.'],
  ] as const) {
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByText(text).waitFor();
  }
});
