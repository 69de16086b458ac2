import { FleetError } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { CONSOLE } from '../keys/layout.ts';
import { askInside, lastLine } from './inside.ts';
import { requireService } from './list-containers.ts';

const Link = z.looseObject({ url: z.string(), expires_at: z.string() });

/**
 * Asks for a link to the console where CONSOLE_LOGIN is: in its container. Throws PEER_UNREACHABLE where the console does not run or
 * does not answer. `address` is that of the console for the browser, the published one by default.
 */
export async function linkOfContainer(folder: FleetFolder, env: NodeJS.ProcessEnv, address?: string) {
  const { url } = await requireService(folder, env, CONSOLE);
  const shown = address ?? url;
  const words = ['console', '--as-is', '--json', ...(shown === undefined ? [] : [`--address=${shown}`])];
  const { code, stdout, stderr } = await askInside(folder, env, CONSOLE, words);
  if (code === 0) return Link.parse(JSON.parse(stdout));
  throw new FleetError('PEER_UNREACHABLE', `the console gives no link: ${lastLine(stdout || stderr)}`);
}
