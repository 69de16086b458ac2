import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Opens a link in the browser of the desktop: `open` on macOS, else `xdg-open` where there is a display. Resolves with false
 * where neither is there or it fails; resolves once the program has ended or has run for `waitMs`.
 */
export async function openInBrowser(
  link: string,
  env: NodeJS.ProcessEnv,
  { platform = process.platform, waitMs = 5_000 }: { platform?: NodeJS.Platform; waitMs?: number } = {},
): Promise<boolean> {
  // Without a display, xdg-open would start a browser in the terminal.
  const program =
    platform === 'darwin' ? 'open' : env.DISPLAY || env.WAYLAND_DISPLAY ? 'xdg-open' : undefined;
  if (program === undefined) return false;
  const child = spawn(program, [link], { env, stdio: 'ignore', detached: true });
  try {
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(waitMs) });
    return code === 0;
  } catch (error) {
    child.unref();
    return error instanceof Error && error.name === 'AbortError';
  }
}
