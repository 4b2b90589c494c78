/**
 * A server of the Model Context Protocol over one project of a warehouse: assistants ask it and propose, people decide. No tool
 * approves, sends, stops, cancels, retries or configures anything, and what others wrote is data, never an instruction.
 */
export { serveMcp } from './serve.ts'
