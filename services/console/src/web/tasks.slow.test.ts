import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeBrowser, needsChromium, openPage } from '../../testing/web/browser.ts';
import { CSRF, TOKEN } from '../../testing/web/stub-console.ts';
import { idOf, MARKUP, taskRows } from '../../testing/web/tasks-fixture.ts';

after(closeBrowser);

test('the list shows each task, and follows its changes without a reload', needsChromium, async (t) => {
  const { page, stub, faults } = await openPage(t, { at: '/#/tasks' });
  const row = page.getByRole('row', { name: /refactor-auth-module/ });
  await row.getByText('running').waitFor();
  assert.equal(await page.locator('tbody tr').count(), 12);
  const element = await row.elementHandle();
  const [first] = stub.state.tasks;
  assert.ok(first);
  stub.state.tasks[0] = {
    ...first,
    state: 'done',
    tool: null,
    spent_tokens: 3999,
    ended_at: new Date().toISOString(),
  };
  stub.state.tasks.unshift({ ...first, id: idOf(77), task_id: 'arrives-later' });
  stub.changed({ views: ['tasks'] });
  await row.getByText('3,999 / 4,000').waitFor();
  await row.getByText('done').waitFor();
  await page.getByRole('row', { name: /arrives-later/ }).waitFor();
  assert.ok(await element?.evaluate((same) => same.isConnected), 'the row was replaced instead of changed');
  assert.equal(faults.join('\n'), '');
});

test('news that come in a burst are read at most twice a second', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, { at: '/#/tasks' });
  await page.getByText('12 tasks').waitFor();
  const before = stub.read.length;
  const began = performance.now();
  while (performance.now() - began < 2000) {
    stub.changed({ views: ['tasks'] });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const reads = stub.read.length - before;
  assert.ok(reads >= 2 && reads <= 5, `${reads} reads in two seconds`);
});

test('filters, search and pages are in the address', needsChromium, async (t) => {
  const { page } = await openPage(t, {
    at: '/#/tasks',
    prepare: ({ state }) => Object.assign(state, { tasks: taskRows(Date.now(), 120) }),
  });
  await page.getByText('120 tasks').waitFor();
  await page.getByRole('link', { name: 'Older' }).click();
  await page.getByRole('link', { name: 'task-60', exact: true }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'haiku' }).waitFor();
  const blocked = page.getByRole('navigation', { name: 'States' }).getByRole('link', { name: 'Blocked 10' });
  await blocked.click();
  await page.getByText('10 tasks').waitFor();
  assert.equal(await blocked.getAttribute('aria-current'), 'true');
  assert.match(page.url(), /state=blocked/);
  await page.getByLabel('Search').fill('nobody');
  await page.getByText('1 task', { exact: true }).waitFor();
  assert.match(page.url(), /q=nobody/);
  await page.reload();
  await page.getByText('1 task', { exact: true }).waitFor();
  assert.equal(await page.getByLabel('Search').inputValue(), 'nobody');
  await page.getByLabel('Search').fill('nothing-has-this-name');
  await page.getByText('No task matches.').waitFor();
  await page.getByRole('link', { name: 'Show all tasks' }).click();
  await page.getByText('120 tasks').waitFor();
  assert.equal(await page.getByLabel('Search').inputValue(), '');
});

test('an empty fleet says how to send the first task', needsChromium, async (t) => {
  const { page } = await openPage(t, { prepare: ({ state }) => Object.assign(state, { tasks: [] }) });
  await page.getByText('No task yet.').waitFor();
  await page.getByRole('link', { name: 'Send one' }).waitFor();
});

test(
  'a task page tells its story across services, and text with markup stays text',
  needsChromium,
  async (t) => {
    const { page, faults } = await openPage(t, { at: `/#/tasks/switch/${idOf(6)}` });
    await page.getByRole('heading', { name: 'haiku' }).waitFor();
    await page.getByText('neo refused (mcp), and morpheus was chosen.').waitFor();
    await page.getByText('mcp not healthy; tier below minimum').waitFor();
    await page.getByRole('row', { name: /Level 2: trinity/ }).waitFor();
    await page.getByText(`A tool with the name ${MARKUP} was called.`).waitFor();
    for (const repeated of ['Step 1 called terminal.', 'morpheus: terminal runs'])
      assert.equal(await page.getByText(repeated).count(), 0, repeated);
    await page.getByLabel('Every event').check();
    await page.getByText('Step 1 called terminal.').waitFor();
    await page.getByText('morpheus: terminal runs').waitFor();

    await page.getByRole('button', { name: 'Show them with my token' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your token' });
    await dialog.getByLabel('Token').fill('wrong');
    await dialog.getByRole('button', { name: 'Use this token' }).click();
    await dialog.getByText('No profile knows this token.').waitFor();
    await dialog.getByLabel('Token').fill(TOKEN);
    await page.keyboard.press('Enter');
    for (const text of [
      `token refresh.\n\n${MARKUP}`,
      `function of its own. ${MARKUP}`,
      `src/${MARKUP}.py`,
      `Run the whole suite ${MARKUP}`,
      `report ${MARKUP}.md`,
      `# Report ${MARKUP}`,
    ])
      await page.locator('main', { hasText: text }).waitFor();
    assert.equal(await page.locator('main img, main b').count(), 0);
    assert.equal(await page.title(), 'Task · Hermes Fleet');
    assert.equal(faults.join('\n'), '');
  },
);

test('the trace of a task is a link to the configured trace UI', needsChromium, async (t) => {
  const { page } = await openPage(t, { at: `/#/tasks/switch/${idOf(6)}` });
  const trace = page.getByRole('link', { name: '4bf92f3577b34da6a3ce929d0e0e4736', exact: true });
  assert.equal(
    await trace.getAttribute('href'),
    'http://127.0.0.1:16686/trace/4bf92f3577b34da6a3ce929d0e0e4736',
  );
});

test(
  'the page of a blocked task says at its top what was unmet, and of a failed one why',
  needsChromium,
  async (t) => {
    const { page } = await openPage(t, { at: `/#/tasks/switch/${idOf(8)}` });
    await page.getByText('Blocked before a token was spent.').waitFor();
    await page.getByRole('link', { name: 'All tasks blocked by mcp' }).click();
    await page.getByText('1 task', { exact: true }).waitFor();
    await page.evaluate((hash) => location.assign(hash), `#/tasks/switch/${idOf(9)}`);
    await page.getByText('Ended with an error: model failed.').waitFor();
  },
);

test('the tokens of a tree are told by kind, and each part with its money', needsChromium, async (t) => {
  const { page } = await openPage(t, { at: `/#/tasks/switch/${idOf(6)}` });
  const kinds = page.locator('.kinds');
  await kinds.waitFor();
  assert.equal(
    (await kinds.textContent())?.replaceAll(/\s+/g, ''),
    'Input27,600Cacheread9,300Cachewritten1,200Output4,440ofitreasoning1,860',
  );
  assert.match(
    (await page.getByRole('row', { name: /Level 2: trinity/ }).textContent()) ?? '',
    /3,120.*0\.0931/s,
  );
});

test('a question is answered with the token of the person', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, {
    at: `/#/tasks/switch/${idOf(5)}`,
    prepare: ({ state }) => Object.assign(state, { caller: 'operator' }),
  });
  await page.getByText(`Which region? ${MARKUP}`).waitFor();
  await page.getByRole('heading', { name: 'The task asks' }).waitFor();
  await page.getByLabel('Answer').fill('eu-west-1');
  await page.getByRole('button', { name: 'Answer' }).click();
  await page.getByRole('status').getByText('The answer is sent.').waitFor({ state: 'attached' });
  assert.deepEqual(stub.sent, [
    { method: 'POST', path: `/api/tasks/switch/${idOf(5)}/answer`, body: { text: 'eu-west-1' }, csrf: CSRF },
  ]);
});

test('canceling asks first, then for the token, once', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, { at: `/#/tasks/switch/${idOf(1)}` });
  const cancel = page.getByRole('button', { name: 'Cancel the task' });
  await cancel.click();
  await page.getByRole('button', { name: 'Let it run' }).click();
  await cancel.click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the task' }).click();
  await page.getByRole('textbox', { name: 'Token' }).fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('is asked to cancel').waitFor({ state: 'attached' });
  const paths = stub.sent.map(({ path }) => path.replace(/.*\//, ''));
  assert.deepEqual(paths, ['cancel', 'token', 'cancel']);
});

test('a task that the console does not know says where to look', needsChromium, async (t) => {
  const { page } = await openPage(t, { at: '/#/tasks/switch/gone' });
  await page.getByText('The console does not know this task.').waitFor();
  await page.getByText('./fleet task gone').waitFor();
});

test('the page of a task whose first event is on its way waits for it', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, {
    at: `/#/tasks/switch/${idOf(1)}`,
    prepare: ({ state }) => Object.assign(state, { tasks: [] }),
  });
  await page.getByText('Waiting for the first event of the task').waitFor({ state: 'attached' });
  assert.equal(await page.getByText('does not know this task').count(), 0);
  stub.state.tasks = taskRows(Date.now());
  stub.changed({ views: ['tasks'], tasks: [`switch/${idOf(1)}`] });
  await page.getByRole('heading', { name: 'refactor-auth-module' }).waitFor();
});
