// Healthy when /ready of this container's service answers 2xx. HEALTH_PORT is the port of the service.
const url = `http://127.0.0.1:${process.env.HEALTH_PORT}/ready`;
try {
  const reply = await fetch(url, { signal: AbortSignal.timeout(5000) });
  process.stdout.write((await reply.text()).slice(0, 1000));
  process.exitCode = reply.ok ? 0 : 1;
} catch (error) {
  process.stdout.write(`${url}: ${error.cause?.code ?? error.message}`);
  process.exitCode = 1;
}
