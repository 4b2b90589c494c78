/**
 * A small HTTP server on loopback that answers as a test says, and a client of it with fast
 * retries.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Client, type ClientOptions, createClient } from '../../src/service/client.ts'
import { ApiError, type ApiFailure } from '../../src/service/core/api-failure.ts'
import type { ApiRequest } from '../../src/service/core/api-request.ts'
import type { BudgetPolicy } from '../../src/service/core/budget-policy.ts'
import { createMemoryStore } from '../../src/service/rate-limit/budget-store.ts'
import {
  createRequestBudget,
  type RequestBudget,
} from '../../src/service/rate-limit/request-budget.ts'

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

export type TestService = {
  readonly url: URL
  /** How many requests have arrived. */
  readonly requestCount: () => number
  readonly lastRequest: () => IncomingMessage
}

export const testKey = 'svc_live_Zq81-secret.value'

/** Stops when the test ends. */
export async function startTestService(answer: RequestHandler): Promise<TestService> {
  const requests: IncomingMessage[] = []
  const server: Server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: new URL(`http://127.0.0.1:${port}/v1`),
    requestCount: () => requests.length,
    lastRequest: () => requests.at(-1)!,
  }
}

export const jsonAnswer = (
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): RequestHandler => {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

export const emptyListAnswer = jsonAnswer(200, {
  data: { items: [], hasMore: false },
  requestId: 'req-1',
})

/** The answers in order; the last one repeats. */
export const answersInOrder = (...answers: readonly RequestHandler[]): RequestHandler => {
  let count = 0
  return (request, response) => {
    const answer = answers[Math.min(count, answers.length - 1)]
    count += 1
    answer?.(request, response)
  }
}

const unlimited = { requests: 1_000_000, windowMs: 60_000 }
export const unlimitedPolicy: BudgetPolicy = {
  rate: unlimited,
  writeRate: unlimited,
  reserve: 0,
  rateMargin: 0.02,
}

export function memoryBudget(policy = unlimitedPolicy): RequestBudget {
  return createRequestBudget(createMemoryStore(policy))
}

export const quickRetries = { attempts: 8, baseMs: 1, capMs: 4, maxRequestedWaitMs: 60_000 }

export function createTestClient(url: URL, options: Partial<ClientOptions> = {}): Client {
  const { signal } = new AbortController()
  const defaults = {
    baseUrl: url,
    key: testKey,
    budget: memoryBudget(),
    signal,
    retries: quickRetries,
  }
  const client = createClient({ ...defaults, ...options })
  onTestFinished(() => client.close())
  return client
}

export const readCall: ApiRequest = { method: 'GET', path: '/thing', priority: 'fresh' }
export const writeCall: ApiRequest = {
  method: 'POST',
  path: '/thing',
  priority: 'write',
  body: { content: 'hello' },
}

/**
 * The error of the call; the test fails if there is none, or if anything but ApiError was thrown.
 */
export async function errorOf(call: Promise<unknown>): Promise<ApiError> {
  const [result] = await Promise.allSettled([call])
  const error: unknown =
    result.status === 'rejected' ? result.reason : new Error('the call did not fail')
  if (error instanceof ApiError) return error
  throw error
}

export async function failureOf(call: Promise<unknown>): Promise<ApiFailure> {
  return (await errorOf(call)).failure
}
