import type { SessionAnnounce } from '@hermes-fleet/protocol';

/** One line of the peers' view: what a profile says of itself. */
export function peerLine(name: string, announce: SessionAnnounce): string {
  const { worker, session, mcpHealth, ready } = announce;
  const servers = Object.entries(mcpHealth).map(([server, state]) => `${server} ${state}`);
  return [
    `  ${name.padEnd(9)}`,
    (announce.role ?? 'agent').padEnd(13),
    worker.modelTier.padEnd(7),
    worker.model.padEnd(16),
    ready === false ? 'not ready' : 'ready    ',
    ` ${session.activeTasks} running`,
    `  MCP: ${servers.join(', ') || 'none'}`,
  ].join(' ');
}
