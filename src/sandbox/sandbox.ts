/** Starts the sandbox: a full, stateful server of the API on loopback, with controls for tests. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Sandbox } from './handle.ts'
import { createMemorySandbox } from './memory-sandbox.ts'
import type { SandboxOptions } from './options.ts'
import { createControl } from './server/control.ts'
import { createListener } from './server/listener.ts'

export type { Sandbox } from './handle.ts'
export type { KeyOptions, ProjectOptions, SandboxOptions } from './options.ts'

/** Resolves when it listens. Throws RangeError for invalid options, and the system's error for a port in use. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const prefix = options.prefix ?? ''
  const memory = createMemorySandbox(options)
  const { context: _, ...members } = Object.getOwnPropertyDescriptors(memory)
  const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0 })
  const port = await listen(server, options.port ?? 0)
  const origin = `http://127.0.0.1:${port}`
  const network = {
    origin,
    port,
    baseUrl: `${origin}${prefix}`,
    widgetUrl: origin,
    stop: () => stopServer(server),
    stopped: new Promise<void>((resolve) => server.once('close', () => resolve())),
  }
  // Not spread: a getter stays one.
  const sandbox: Sandbox = Object.defineProperties(network, members) as Sandbox
  server.on('request', createListener(memory.context, prefix, createControl(sandbox)))
  return sandbox
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

async function stopServer(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}
