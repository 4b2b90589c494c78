/** What `verify --certificate`, `verify --against` and `audit` print: the shapes behind `--json` and behind the text output. */
import type { AuditEstimate, AuditResult } from './audit.ts'
import type { StreamChange } from './certificate-changes.ts'
import type { Difference, VerifyReport } from './command-reports.ts'

/** `verify --certificate`, one project. */
export type CertifiedReport = VerifyReport & {
  readonly certificate: {
    /** The files. */
    readonly json: string
    readonly page: string
    readonly countedAt: string
    readonly digest: string
    /** Of the JSON file: who notes it can tell later whether the file was changed. */
    readonly sha256: string
    /** How many things it says that it does not prove. */
    readonly limits: number
  }
}

/** `verify --against`, one project. */
export type CertificateComparison = {
  readonly project: string
  readonly certificate: {
    readonly file: string
    readonly countedAt: string
    readonly digest: string
    readonly sha256: string
  }
  readonly countedAt: string
  readonly streams: readonly StreamChange[]
}

/** `audit`, one project: one for each stream; empty if none could be audited yet. */
export type AuditReport = {
  readonly project: string
  readonly audits: readonly AuditResult[]
  /** The rows that differed; all of them. */
  readonly differences: readonly Difference[]
  /** What all audits of the last 30 days show. */
  readonly estimates: readonly AuditEstimate[]
  readonly outcome: 'done' | 'interrupted'
  readonly requests: number
  /** Why a stream was not audited, or deleted rows were not marked. Sentences for users. */
  readonly notices: readonly string[]
}
