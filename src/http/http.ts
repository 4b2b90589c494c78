/**
 * The HTTP server of a worker: health, metrics, webhooks, and who may ask. It says little, and
 * trusts names of this machine only.
 */
export { type Attempts, createAttempts, isEqualSecret, isLocalHost, tooManyText } from './auth.ts'
export { createMetrics, type Metrics } from './metrics.ts'
export { logRefusal } from './refusal-log.ts'
export { rememberResults, withTimeout } from './remember-results.ts'
export {
  type HttpRoutes,
  openHttpServer,
  type ReadinessResult,
  type RoutesPlugin,
} from './server.ts'
export { webhookRoutes } from './webhooks.ts'
