/**
 * A script for the memory test: syncs in its own process, started like the program, and prints its
 * peak memory.
 */
import { createRequire } from 'node:module'
import { streamNames } from '../../../schema/stream-specs.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { syncOnce } from './sync-sandbox.ts'

createRequire(import.meta.url)('../../../bin/run-program.js').keepHeapSmall()

const [databaseUrl = '', baseUrl = '', names = ''] = process.argv.slice(2)
const service = {
  baseUrl,
  widgetUrl: baseUrl,
  projectId: '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f',
  key: 'svc_live_x',
}
const streams = streamNames.filter((name) => names.split(',').includes(name))
const report = await syncOnce(databaseUrl, service as Sandbox, { streams })
process.stdout.write(JSON.stringify({ peakMb: process.resourceUsage().maxRSS / 1000, ...report }))
