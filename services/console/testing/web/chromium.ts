import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Where Debian, its derivatives and Google put the browser. `CHROMIUM_BIN` names another place. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The program of the browser, or undefined where there is none. */
export const chromiumProgram = (): string | undefined =>
  [process.env['CHROMIUM_BIN'] ?? '', ...PLACES].find((place) => place !== '' && existsSync(place));

/** What to do where there is none. */
export const NO_CHROMIUM =
  'there is no Chromium: deploy/system-packages.sh --tests installs it, or CHROMIUM_BIN names one';

/** Starts it without a window. Throws where there is none. The sandbox of Chromium does not start as root. */
export function launchChromium(): Promise<Browser> {
  const executablePath = chromiumProgram();
  if (executablePath === undefined) throw new Error(NO_CHROMIUM);
  const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath, args: [...asRoot, '--disable-gpu', '--disable-dev-shm-usage'] });
}
