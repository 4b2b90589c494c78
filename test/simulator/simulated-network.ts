/**
 * The network between the client and the sandbox, without sockets: a request leaves, arrives, is
 * answered, and its answer arrives, each an item of the schedule with a delay of its own, and each
 * may fail.
 */
import type { Dispatcher } from 'undici'
import type { FaultKind } from '../../src/sandbox/faults.ts'
import type { MemorySandbox } from '../../src/sandbox/memory-sandbox.ts'
import type { ServiceResponse } from '../../src/sandbox/response.ts'
import { dateHeader } from '../../src/sandbox/sandbox.ts'
import { receiveRequest } from '../../src/sandbox/service.ts'
import type { Connections } from '../../src/service/exchange.ts'
import type { Ms } from '../../src/values/time.ts'
import type { Scheduler, SimulatedProcess } from './scheduler.ts'

/** What happens to one request. `silence`: no answer ever comes. */
export type Delivery = {
  readonly fault: FaultKind | null
  readonly lost: 'connect' | 'request' | 'response' | 'silence' | null
  readonly outMs: Ms
  readonly backMs: Ms
}

export type NetworkRequest = {
  readonly method: string
  readonly path: string
  readonly body: string | null
}

export type NetworkDeps = {
  readonly scheduler: Scheduler
  readonly sandbox: MemorySandbox
  readonly chooseDelivery: (request: NetworkRequest) => Delivery
  /** Called when bytes leave the process. */
  readonly onLeave: (process: SimulatedProcess, request: NetworkRequest) => void
  /** Called when an answer has come. */
  readonly onAnswer: (process: SimulatedProcess) => void
}

type Handler = Dispatcher.DispatchHandler
type DispatchOptions = Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'>

export function createSimulatedNetwork(deps: NetworkDeps) {
  return {
    connectionsOf: (process: SimulatedProcess): Connections => {
      const dispatch = (options: DispatchOptions, handler: Handler) => {
        startExchange(deps, process, options, handler)
        return true
      }
      const dispatcher = { dispatch } as unknown as Dispatcher
      return { forOrigin: () => ({ reads: dispatcher, writes: dispatcher }), close: async () => {} }
    },
  }
}

function startExchange(
  deps: NetworkDeps,
  process: SimulatedProcess,
  options: DispatchOptions,
  handler: Handler,
): void {
  const { scheduler } = deps
  const request: NetworkRequest = {
    method: options.method,
    path: options.path,
    body: typeof options.body === 'string' ? options.body : null,
  }
  const name = `${request.method} ${request.path}`
  const delivery = deps.chooseDelivery(request)
  const exchange = { isAborted: false }
  const abort = () => {
    exchange.isAborted = true
  }
  // What the client uses of it.
  const controller = { abort } as unknown as Dispatcher.DispatchController
  const fail = (code: string) =>
    handler.onResponseError?.(controller, Object.assign(new Error(code), { code }))
  const reset = () => fail('ECONNRESET')
  const inProcess = (delayMs: Ms, what: string, run: () => void) =>
    scheduler.schedule(process, delayMs, what, () => {
      if (!exchange.isAborted) run()
    })
  if (delivery.lost === 'connect')
    return void inProcess(delivery.outMs, `cannot connect for ${name}`, () => fail('ECONNREFUSED'))
  inProcess(scheduler.int(0, 2), `sends ${name}`, () => {
    handler.onRequestStart?.(controller, {})
    if (exchange.isAborted) return
    deps.onLeave(process, request)
    if (delivery.lost === 'request')
      return void inProcess(delivery.outMs, `loses the connection, ${name} did not arrive`, reset)
    // A client that gives up closes the connection. One that dies leaves what it has sent on its
    // way.
    scheduler.schedule(null, delivery.outMs, '', () => {
      if (!exchange.isAborted) arrive(name)
    })
  })

  function arrive(what: string): void {
    const received = receive(deps, options, request, delivery.fault)
    const response = received.respond()
    received.entry.status = response.status
    const outcome = `the service receives ${what} of ${process.name} and answers ${response.status}`
    scheduler.log('service', `${outcome}${delivery.fault === null ? '' : ` (${delivery.fault})`}`)
    scheduler.record(request.body, response.headers, response.body)
    if (delivery.lost === 'silence') return
    if (delivery.lost === 'response')
      return void inProcess(delivery.backMs, `loses the answer to ${name}`, reset)
    inProcess(delivery.backMs, `gets ${response.status} for ${name}`, () =>
      deliver(response, received),
    )
  }

  function deliver(response: ServiceResponse, received: ReturnType<typeof receive>): void {
    deps.onAnswer(process)
    const date = dateHeader(deps.sandbox.service, received.entry.number)
    const headers = {
      ...response.headers,
      ...(date === null ? {} : { date }),
      'x-request-id': received.entry.requestId,
    }
    handler.onResponseStart?.(controller, response.status, headers)
    const body = Buffer.from(response.body)
    const isTruncated = delivery.fault === 'truncated'
    if (body.length > 0)
      handler.onResponseData?.(controller, isTruncated ? body.subarray(0, body.length >> 1) : body)
    if (isTruncated) reset()
    else handler.onResponseEnd?.(controller, {})
  }
}

function receive(
  { sandbox }: NetworkDeps,
  options: DispatchOptions,
  request: NetworkRequest,
  fault: FaultKind | null,
) {
  const [path = '', search = ''] = request.path.split('?')
  const { service } = sandbox
  const headers = (options.headers ?? {}) as Record<string, string>
  const incoming = { method: request.method, path, search, headers, bodyText: request.body ?? '' }
  return receiveRequest(service, incoming, service.nextNumber(), () => fault)
}
