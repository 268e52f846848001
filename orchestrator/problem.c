#include "orchestrator/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/base/mem.h"
#include "orchestrator/out.h"
#include "orchestrator/wording.h"

/* clang-format off */
static const struct entry {
    const char *code;
    int status;
    const char *text[2]; /* by enum language; {name} is an argument */
} table[PROBLEM_CODES] = {
[PROBLEM_NONE]       = {"", 200, {"", ""}},
[JOB_UNKNOWN]        = {"SCHEDULING_NOTFOUND_001", 404, {
    "There is no job \"{job}\" in project \"{project}\".",
    "项目“{project}”中没有作业“{job}”。"}},
[TASK_UNKNOWN]       = {"SCHEDULING_NOTFOUND_002", 404, {
    "The document names a task that no application offers; see the details for those that are known.",
    "文档引用了没有任何应用提供的任务;已知的任务见 details。"}},
[TRIGGER_UNKNOWN]    = {"SCHEDULING_NOTFOUND_003", 404, {
    "Job \"{job}\" has no trigger \"{trigger}\".",
    "作业“{job}”没有触发器“{trigger}”。"}},
[RUN_UNKNOWN]        = {"SCHEDULING_NOTFOUND_004", 404, {
    "Run {run} does not exist, or it has ended.",
    "运行 {run} 不存在或已经结束。"}},
[RUN_NONE]           = {"SCHEDULING_NOTFOUND_004", 404, {
    "There is no run {run} in project \"{project}\"; it may be older than what is kept.",
    "项目“{project}”中没有运行 {run};它可能已超出保留期限。"}},
[DOCUMENTS_INVALID]  = {"SCHEDULING_VALIDATION_001", 400, {
    "There are {count} fault(s) in the {documents} documents; nothing was written. Each is in the details with its document and path.",
    "{documents} 个文档中共有 {count} 处错误,未写入任何内容;details 中列出了每处错误所在的文档及路径。"}},
[DEFINITION_INVALID] = {"SCHEDULING_VALIDATION_001", 400, {
    "The document has {count} fault(s); nothing was written. Each is in the details with its path.",
    "文档有 {count} 处错误,未写入任何内容;details 中列出了每处错误及其路径。"}},
[EXPRESSION_INVALID] = {"SCHEDULING_VALIDATION_001", 400, {
    "The expression is not valid: {reason}",
    "表达式无效:{reason}"}},
[PAGE_INVALID]       = {"SCHEDULING_VALIDATION_002", 400, {
    "\"{name}\" is {value}; it must be {rule}.",
    "“{name}”的值为 {value},应为 {rule}。"}},
[RUN_BUSY]           = {"SCHEDULING_CONFLICT_001", 409, {
    "Job \"{job}\" is running and its overlap policy is \"{overlap}\"; wait for it, cancel it, or use enqueue.",
    "作业“{job}”正在运行,其重叠策略为“{overlap}”;请等待、取消或改用 enqueue。"}},
[RUN_CANCELED_CODE]  = {"SCHEDULING_CONFLICT_003", 409, {
    "The run was canceled.",
    "运行已被取消。"}},
[REPORT_LATE]        = {"SCHEDULING_CONFLICT_005", 409, {
    "The step has ended otherwise; the report is kept as stale and changes nothing. Stop the work and do not send it again (canceled: {canceled}).",
    "该步骤已以其他方式结束;此报告仅作为过期记录保存,不起作用。请停止工作且不要重发(canceled:{canceled})。"}},
[REPORT_UNKNOWN]     = {"SCHEDULING_NOTFOUND_005", 410, {
    "There is no such call: the address is not one that a scheduler gave in X-Carillon-Callback, or its run is gone. Do not send it again.",
    "没有此调用:该地址不是调度器在 X-Carillon-Callback 中给出的地址,或其运行已不存在。请不要重发。"}},
[LEASE_HELD]         = {"SCHEDULING_CONFLICT_002", 409, {
    "Lease \"{lease}\" is held by \"{holder}\"; ask again when it is over.",
    "租约“{lease}”由“{holder}”持有;请在其到期后重试。"}},
[LEASE_LOST]         = {"SCHEDULING_CONFLICT_006", 409, {
    "Lease \"{lease}\" is not held under this token: it was lost, or given back. Stop what it protects, then acquire it anew.",
    "此令牌并未持有租约“{lease}”:租约已丢失或已归还。请停止受其保护的工作,然后重新获取。"}},
[IN_USE]             = {"SCHEDULING_CONFLICT_004", 409, {
    "\"{name}\" is in use: {reason}",
    "“{name}”正在被使用:{reason}"}},
[SCHEDULER_AWAY]     = {"SCHEDULING_UNAVAILABLE_001", 503, {
    "No scheduler took job \"{job}\" within {seconds} s; nothing was run. Start a scheduler, or use enqueue, which waits.",
    "{seconds} 秒内没有调度器接管作业“{job}”,未执行任何运行。请启动调度器,或使用会等待的 enqueue。"}},
[COORDINATION_AWAY]  = {"SCHEDULING_UNAVAILABLE_002", 503, {
    "The coordination service cannot be reached.",
    "无法连接协调服务。"}},
[STORE_AWAY]         = {"SCHEDULING_UNAVAILABLE_003", 503, {
    "The store cannot be reached or is busy; nothing was acknowledged. Ask again shortly.",
    "存储不可用或繁忙,请求未被确认;请稍后重试。"}},
[STORE_FULL]         = {"SCHEDULING_UNAVAILABLE_004", 503, {
    "The store cannot be written: no space is left, or it is read-only. Free space, then ask again.",
    "存储无法写入:空间不足或只读。请释放空间后重试。"}},
[RUN_TIMEOUT]        = {"SCHEDULING_TIMEOUT_001", 504, {
    "The run passed its time limit.",
    "运行超过了时间限制。"}},
[RUN_FAILED_CODE]    = {"SCHEDULING_UNEXPECTED_001", 500, {
    "The run failed.",
    "运行失败。"}},
[SCHEDULER_UNKNOWN]  = {"SCHEDULER_NOTFOUND_001", 404, {
    "There is no scheduler \"{node}\"; GET /api/v1/schedulers lists those that were ever started.",
    "没有调度器“{node}”;GET /api/v1/schedulers 列出所有启动过的调度器。"}},
[SCHEDULER_LIVES]    = {"SCHEDULER_CONFLICT_001", 409, {
    "Scheduler \"{node}\" lives; only one that is down can be forgotten. To stop it from claiming jobs, drain it.",
    "调度器“{node}”仍在运行;只能移除已停止的调度器。若要让它不再领取作业,请将其排空(drain)。"}},
[SCHEDULER_HOLDS_SLOTS] = {"SCHEDULER_CONFLICT_002", 409, {
    "Scheduler \"{node}\" is down but still holds {count} slots: another one must take them over first.",
    "调度器“{node}”已停止,但仍持有 {count} 个槽位:须先由其他调度器接管。"}},
[SCHEDULER_DRIVES_RUNS] = {"SCHEDULER_CONFLICT_003", 409, {
    "Scheduler \"{node}\" is down but {count} open runs are still its own: another one must take them over first.",
    "调度器“{node}”已停止,但仍有 {count} 个未结束的运行属于它:须先由其他调度器接管。"}},
[SCHEDULER_LAST]     = {"SCHEDULER_WARNING_001", 200, {
    "No other scheduler is working: nothing fires until one is, or until \"{node}\" is told to go online again.",
    "没有其他正在工作的调度器:在有调度器开始工作或“{node}”重新上线之前,不会触发任何作业。"}},
[PROJECT_UNKNOWN]    = {"PROJECT_NOTFOUND_001", 404, {
    "There is no project \"{project}\"; create it first (PUT /api/v1/projects/{project}, or a Project document in the same apply).",
    "项目“{project}”不存在;请先创建(PUT /api/v1/projects/{project},或在同一次 apply 中提供 Project 文档)。"}},
[APPLICATION_UNKNOWN] = {"APP_NOTFOUND_001", 404, {
    "There is no application \"{name}\" in project \"{project}\".",
    "项目“{project}”中没有应用“{name}”。"}},
[CALENDAR_UNKNOWN]   = {"CALENDAR_NOTFOUND_001", 404, {
    "There is no calendar \"{name}\" in project \"{project}\".",
    "项目“{project}”中没有日历“{name}”。"}},
[TOKEN_MISSING]      = {"AUTH_UNAUTHORIZED_001", 401, {
    "A token is required: send it as \"Authorization: Bearer <token>\".",
    "需要令牌:请以“Authorization: Bearer <token>”发送。"}},
[TOKEN_REFUSED]      = {"AUTH_UNAUTHORIZED_002", 401, {
    "The token is unknown or has expired.",
    "令牌无效或已过期。"}},
[SIGNATURE_REFUSED]  = {"AUTH_UNAUTHORIZED_003", 401, {
    "The registration is refused: {reason}. It is signed with the application's key (docs/protocol.md).",
    "注册被拒绝:{reason}。注册须用应用密钥签名(见 docs/protocol.md)。"}},
[TOKEN_UNKNOWN]      = {"AUTH_NOTFOUND_001", 404, {
    "There is no token with the id {id}; GET /api/v1/tokens lists them.",
    "没有 id 为 {id} 的令牌;GET /api/v1/tokens 列出所有令牌。"}},
[ROLE_MISSING]       = {"AUTH_FORBIDDEN_001", 403, {
    "This needs the role \"{need}\"; the token has \"{role}\".",
    "此操作需要角色“{need}”,当前令牌的角色为“{role}”。"}},
[SCOPE_MISSING]      = {"AUTH_FORBIDDEN_002", 403, {
    "The token is limited to project \"{scope}\".",
    "令牌仅限于项目“{scope}”。"}},
[AUTH_TOO_OFTEN]     = {"AUTH_RATE_001", 429, {
    "Too many refused tokens from this address; wait a minute.",
    "来自该地址的无效令牌过多,请一分钟后再试。"}},
[JSON_INVALID]       = {"REQUEST_VALIDATION_001", 400, {
    "The body is not what is expected: {reason}",
    "请求体不符合要求:{reason}"}},
[PARAMETER_INVALID]  = {"REQUEST_VALIDATION_002", 400, {
    "\"{name}\": {reason}",
    "“{name}”:{reason}"}},
[BATCH_TOO_BIG]      = {"REQUEST_TOOLARGE_001", 413, {
    "A batch may hold {maximum} items; this one has {count}.",
    "批量请求最多 {maximum} 项,本次有 {count} 项。"}},
[BODY_TOO_BIG]       = {"REQUEST_TOOLARGE_002", 413, {
    "\"{name}\" has {size} bytes; {maximum} are allowed.",
    "“{name}”为 {size} 字节,最多允许 {maximum} 字节。"}},
[TOO_OFTEN]          = {"REQUEST_RATE_001", 429, {
    "Too many requests with this token; the limit is {rate} a second.",
    "该令牌的请求过于频繁;上限为每秒 {rate} 次。"}},
[ROUTE_UNKNOWN]      = {"REQUEST_NOTFOUND_001", 404, {
    "There is nothing at {path}; the routes are in /api/v1/openapi.json.",
    "{path} 不存在;可用路由见 /api/v1/openapi.json。"}},
[METHOD_UNKNOWN]     = {"REQUEST_METHOD_001", 405, {
    "{path} does not know {method}; it knows {allowed}.",
    "{path} 不支持 {method},支持的方法:{allowed}。"}},
[VERSION_CHANGED]    = {"REQUEST_PRECONDITION_001", 412, {
    "\"{name}\" has changed since the version that you read; read it again, then repeat the change.",
    "“{name}”在您读取之后已被修改;请重新读取后再提交。"}},
[TEMPLATE_INVALID]   = {"SCHEDULING_TEMPLATE_001", 400, {
    "The template cannot be rendered: {reason}",
    "模板无法渲染:{reason}"}},
[INTERNAL]           = {"INTERNAL_UNEXPECTED_001", 500, {
    "Something unexpected happened; the log of the server tells more under this trace id.",
    "发生意外错误;请以此 trace id 查看服务器日志。"}},
};
/* clang-format on */

const char *problem_code_text(enum problem_code code)
{
    return table[code].code;
}

int problem_status(enum problem_code code)
{
    return table[code].status;
}

/* Copies what fits, never half a character. */
static void copy_cut(char *ret, size_t size, const char *text)
{
    size_t length = strlen(text);
    if (length >= size) {
        length = size - 1;
        while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(ret, text, length);
    ret[length] = '\0';
}

bool problem_set(struct problem *problem, enum problem_code code, ...)
{
    va_list args;
    problem->code = code;
    problem->arg_count = 0;
    va_start(args, code);
    for (const char *key; problem->arg_count < PROBLEM_ARGS && (key = va_arg(args, const char *));) {
        struct problem_arg *arg = &problem->args[problem->arg_count++];
        const char *value = va_arg(args, const char *);
        arg->key = key;
        copy_cut(arg->value, sizeof arg->value, value ? value : "");
    }
    va_end(args);
    return false;
}

void problem_release(struct problem *problem)
{
    details_release(&problem->details);
    problem->code = PROBLEM_NONE;
    problem->arg_count = 0;
}

/* Walks a text with {name}; unknown names stay as they are. */
static void fill(const char *text, void (*value)(const void *context, const char *name, struct str *ret),
                 const void *context, struct str *ret)
{
    while (*text) {
        const char *open = strchr(text, '{'), *close = open ? strchr(open, '}') : NULL;
        if (!close) {
            str_add(ret, text);
            return;
        }
        char name[32];
        size_t length = (size_t)(close - open - 1);
        str_add_bytes(ret, text, (size_t)(open - text));
        if (length < sizeof name) {
            memcpy(name, open + 1, length);
            name[length] = '\0';
            value(context, name, ret);
        }
        text = close + 1;
    }
}

struct told {
    const struct problem *problem;
    enum language language;
};

/* A reason is a sentence of the ground floor; the other arguments are names and numbers. */
static void value_of_problem(const void *context, const char *name, struct str *ret)
{
    const struct told *told = context;
    for (size_t i = 0; i < told->problem->arg_count; i++) {
        const struct problem_arg *arg = &told->problem->args[i];
        if (!strcmp(arg->key, name))
            (void)wording_add(arg->value, strcmp(name, "reason") != 0 ? LANGUAGE_EN : told->language, ret);
    }
}

static void value_of_json(const void *context, const char *name, struct str *ret)
{
    const struct slice *args = context;
    struct slice value = json_member(*args, name);
    if (value.length)
        json_unquote(value, ret);
}

void problem_message(const struct problem *problem, enum language language, struct str *ret)
{
    struct told told = {problem, language};
    fill(table[problem->code].text[language], value_of_problem, &told, ret);
}

bool problem_text_of_run(const char *code, const char *args, enum language language, struct str *ret)
{
    struct slice object = slice_of(args ? args : "{}", strlen(args ? args : "{}"));
    for (size_t i = 1; i < PROBLEM_CODES; i++)
        if (!strcmp(table[i].code, code)) {
            fill(table[i].text[language], value_of_json, &object, ret);
            return true;
        }
    return false;
}

void problem_write(const struct problem *problem, enum language language, const char *trace_id, bool with_status,
                   struct str *ret)
{
    struct out o = out_to(ret);
    struct str message;
    str_init(&message, 4096);
    problem_message(problem, language, &message);
    out_open(&o, NULL, '{');
    out_text(&o, "code", table[problem->code].code);
    if (with_status)
        out_int(&o, "http", table[problem->code].status);
    out_text(&o, "message", str_text(&message));
    out_open(&o, "args", '{');
    for (size_t i = 0; i < problem->arg_count; i++)
        out_text(&o, problem->args[i].key, problem->args[i].value);
    out_close(&o, '}');
    if (problem->details.errors || trace_id) {
        out_key(&o, "details");
        details_write(&problem->details, false, language, ret);
        o.comma = true;
    }
    if (trace_id)
        out_text(&o, "trace_id", trace_id);
    out_close(&o, '}');
    str_release(&message);
}

void details_add(struct details *details, enum problem_code code, bool warning, const char *path, const char *format,
                 ...)
{
    va_list args;
    if (!warning) {
        details->errors++;
        details->other_errors += code != TASK_UNKNOWN;
    }
    if (details->count >= FAULTS_MAX)
        return;
    if (details->count == details->room) {
        details->room = details->room ? details->room * 2 : 8;
        details->items = mem_resize(details->items, details->room * sizeof *details->items);
    }
    struct detail *detail = &details->items[details->count++];
    char text[2 * FAULT_TEXT_MAX];
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    copy_cut(detail->text, sizeof detail->text, text);
    copy_cut(detail->path, sizeof detail->path, path);
    detail->code = code;
    detail->warning = warning;
}

void details_add_faults(struct details *details, const char *prefix, const struct faults *faults)
{
    size_t errors = 0;
    for (size_t i = 0; i < faults->count; i++) {
        const struct fault *fault = &faults->items[i];
        char path[2 * FAULT_PATH_MAX];
        (void)snprintf(path, sizeof path, "%s%s%s", prefix, *prefix && *fault->path ? "." : "", fault->path);
        errors += !fault->warning;
        details_add(details, DEFINITION_INVALID, fault->warning, path, "%s", fault->text);
    }
    if (faults->errors > errors) { /* counted, but not kept */
        details->errors += faults->errors - errors;
        details->other_errors += faults->errors - errors;
    }
}

void details_release(struct details *details)
{
    free(details->items);
    *details = (struct details){0};
}

void detail_text(const struct detail *detail, enum language language, struct out *out)
{
    struct str text;
    str_init(&text, 4 * FAULT_TEXT_MAX);
    (void)wording_add(detail->text, language, &text);
    out_text(out, "message", text.failed ? detail->text : str_text(&text));
    str_release(&text);
}

void details_write(const struct details *details, bool warnings, enum language language, struct str *ret)
{
    struct out o = out_to(ret);
    out_open(&o, NULL, '[');
    for (size_t i = 0; i < details->count; i++) {
        const struct detail *detail = &details->items[i];
        if (detail->warning != warnings)
            continue;
        out_open(&o, NULL, '{');
        out_text(&o, "path", detail->path);
        out_text(&o, "code", warnings ? "WARNING" : table[detail->code].code);
        detail_text(detail, language, &o);
        out_close(&o, '}');
    }
    out_close(&o, ']');
}
