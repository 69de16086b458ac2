import { dirname } from 'node:path';

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The base environment of every command. It contains nothing of the gateway's (docs/agent.md#tools). */
export const COMMAND_ENV: Readonly<Record<string, string>> = {
  PATH: `${dirname(process.execPath)}:${SYSTEM_PATH}`,
  HOME: '/nonexistent',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
};
