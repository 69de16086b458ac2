import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  accessibilityFaults,
  closeBrowser,
  needsChromium,
  openPage,
  overflow,
} from '../../testing/web/browser.ts';
import { readStaticFiles } from './static-files.ts';

after(closeBrowser);

const INDEX = readFileSync(join(import.meta.dirname, 'index.html'), 'utf8');

test('index.html pins every file of a package by its integrity, and names only files that are served', () => {
  const files = readStaticFiles();
  const pinned = [...INDEX.matchAll(/href="(\/vendor\/[^"]+)" integrity="([^"]+)"/g)].map(
    ([, ...pair]) => pair,
  );
  const vendor = files.filter(({ path }) => path.startsWith('/vendor/'));
  const integrityOf = (body: Buffer): string =>
    `sha384-${createHash('sha384').update(body).digest('base64')}`;
  assert.deepEqual(pinned.sort(), vendor.map(({ path, body }) => [path, integrityOf(body)]).sort());
  const named = [...INDEX.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, path]) => path);
  const served = new Set(files.map(({ path }) => path));
  assert.deepEqual(
    named.filter((path = '') => !served.has(path)),
    [],
  );
});

test('the addresses of packages hold the versions that are installed', () => {
  const vendor = readFileSync(join(import.meta.dirname, 'assets/lib/vendor.js'), 'utf8');
  const served = new Set(readStaticFiles().map(({ path }) => path));
  const imported = [...vendor.matchAll(/from '(\/vendor\/[^']+)'/g)].map(([, path]) => path);
  assert.ok(imported.length >= 4);
  assert.deepEqual(
    imported.filter((path = '') => !served.has(path)),
    [],
  );
});

test('the page has no inline script and no inline style', () => {
  assert.doesNotMatch(INDEX, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i);
});

test('a package whose content is not what is pinned does not run', needsChromium, async (t) => {
  const { page, faults } = await openPage(t, {
    rewrite: ({ path, body }) =>
      path.endsWith('/preact.mjs') ? Buffer.concat([body, Buffer.from('\nglobalThis.tampered=1')]) : body,
  });
  await page.getByText('the page could not be loaded completely').waitFor();
  assert.equal(await page.evaluate(() => 'tampered' in globalThis), false);
  assert.ok(
    faults.some((fault) => /integrity/i.test(fault)),
    faults.join('\n'),
  );
});

test('the policy stops an inline script and an inline style', needsChromium, async (t) => {
  const { page, faults } = await openPage(t);
  await page.getByRole('heading', { name: 'Tasks' }).waitFor();
  assert.equal(faults.join('\n'), '');
  await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.inline = 1';
    document.body.append(script);
    document.body.insertAdjacentHTML('beforeend', '<i style="color: red">x</i>');
  });
  assert.equal(await page.evaluate(() => 'inline' in globalThis), false);
  assert.ok(faults.some((fault) => fault.includes('script-src')));
  assert.ok(faults.some((fault) => fault.includes('style-src')));
});

test('without a session the page says how to open one', needsChromium, async (t) => {
  const { page } = await openPage(t, { prepare: ({ state }) => Object.assign(state, { signedIn: false }) });
  await page.getByText('You are not signed in.').waitFor();
  await page.getByText('./fleet console').waitFor();
});

for (const width of [1280, 360])
  test(`the header links to Grafana where its address is set, at ${width} px`, needsChromium, async (t) => {
    const grafanaUrl = 'http://127.0.0.1:3000/d/fleet?orgId=1&refresh=5s';
    const { page } = await openPage(t, {
      width,
      prepare: ({ state }) => Object.assign(state, { grafanaUrl }),
    });
    const link = page.getByRole('banner').getByRole('link', { name: 'Grafana' });
    await link.waitFor();
    assert.equal(await link.getAttribute('href'), grafanaUrl);
    await page.getByRole('button', { name: 'Use a token' }).waitFor();
    assert.equal(await overflow(page), 0);
    assert.deepEqual(await accessibilityFaults(page), []);
  });

test('the header has no link to Grafana where no address is set', needsChromium, async (t) => {
  const { page } = await openPage(t);
  await page.getByRole('button', { name: 'Use a token' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Grafana' }).count(), 0);
});

test('the theme follows the system until the person chooses', needsChromium, async (t) => {
  const { page } = await openPage(t, { theme: 'dark' });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.getByRole('button', { name: 'Use the light theme' }).waitFor();
  const dark = await ground();
  await page.emulateMedia({ colorScheme: 'light' });
  await page.getByRole('button', { name: 'Use the dark theme' }).click();
  assert.equal(await ground(), dark);
  await page.reload();
  await page.getByRole('button', { name: 'Use the light theme' }).waitFor();
  assert.equal(await ground(), dark);
});
