use import::{Item, Role};
use serde_json::json;

use crate::reading::{items, messages, skips, talk, times};

pub(crate) fn weflow() -> String {
    json!({"weflow": {"version": "1.0", "exportedAt": 1_704_500_000, "generator": "WeFlow"},
        "session": {"wxid": "wxid_theo", "nickname": "theo", "remark": "小明", "displayName": "小明", "type": "私聊"},
        "messages": [
            {"localId": 1, "createTime": 1_704_448_800, "formattedTime": "2024-01-05 18:00:00", "type": "文本消息",
             "localType": 1, "content": "你好", "isSend": 1, "senderUsername": "wxid_ann", "senderDisplayName": "安"},
            {"localId": 2, "createTime": 1_704_448_860, "formattedTime": "2024-01-05 18:01:00", "type": "图片消息",
             "localType": 3, "content": "", "isSend": 0, "senderUsername": "wxid_theo", "senderDisplayName": "小明"},
            {"localId": 3, "createTime": 1_704_448_920, "type": "系统消息", "localType": 10000, "content": "撤回了一条消息",
             "isSend": null, "senderUsername": "", "senderDisplayName": ""}]})
    .to_string()
}

pub(crate) const MEMOTRACE_CSV: &str =
    "localId,TalkerId,Type,SubType,IsSender,CreateTime,Status,StrContent,StrTime,Remark,NickName,Sender
1,7,1,0,1,1704448800,,你好,2024-01-05 18:00:00
2,7,1,0,0,1704448860,,\"好的, 明天见\",2024-01-05 18:01:00
3,7,3,0,0,1704448920,,\"<?xml version=\"\"1.0\"\"?><msg/>\",2024-01-05 18:02:00
4,7,10000,0,0,1704448980,,拍了拍你,2024-01-05 18:03:00
5,7,1,0,0,1704449000,,在群里,2024-01-05 18:03:20,大伟,wei,wxid_wei
";

#[test]
fn weflow_is_read() {
    let items = items("chat.json", weflow());
    assert!(
        matches!(&items[0], Item::Conversation(start) if start.id == "wxid_theo" && start.title.as_deref() == Some("小明"))
    );
    assert_eq!(talk(&items), ["安: 你好", "小明: "]);
    assert_eq!(
        messages(&items).iter().map(|message| message.role).collect::<Vec<_>>(),
        [Role::User, Role::Other]
    );
    assert_eq!(messages(&items)[1].text_with_attachments(), "[image]");
    assert_eq!(times(&items)[0], "2024-01-05T10:00:00Z");
    assert_eq!(skips(&items).len(), 1);
}

#[test]
fn the_other_exporters_are_read() {
    let chatlab = json!({"chatlab": {"version": "0.0.2", "exportedAt": 1}, "meta": {"name": "小明", "platform": "wechat",
        "type": "private", "ownerId": "ann"}, "members": [{"platformId": "theo", "accountName": "小明"}],
        "messages": [{"sender": "ann", "accountName": "安", "timestamp": 1_704_448_800, "type": 0, "content": "一"},
                     {"sender": "theo", "timestamp": 1_704_448_801, "type": 0, "content": "二"}]});
    let read = items("a.json", chatlab.to_string());
    assert_eq!(talk(&read), ["安: 一", "小明: 二"]);
    assert_eq!(messages(&read)[0].role, Role::User);
    let chatlog = json!([{"seq": 1, "time": "2024-01-05T18:00:00+08:00", "talker": "room@chatroom", "talkerName": "花园",
        "isChatRoom": true, "sender": "theo", "senderName": "小明", "isSelf": false, "type": 1, "subType": 0, "content": "三"}]);
    let read = items("b.json", chatlog.to_string());
    assert_eq!(
        (talk(&read), times(&read)),
        (vec!["小明: 三".to_owned()], vec!["2024-01-05T10:00:00Z".to_owned()])
    );
    let dump = json!([{"id": 1, "MsgSvrID": "88", "type_name": "文本", "is_sender": 1, "talker": "我", "room_name": "theo",
        "msg": "四", "src": "", "extra": {}, "CreateTime": "2024-01-05 18:00:00"}]);
    let read = items("c.json", dump.to_string());
    assert_eq!(
        (talk(&read), times(&read)),
        (vec!["我: 四".to_owned()], vec!["2024-01-05T18:00:00".to_owned()])
    );
    let read = items("小明_utf8.csv", MEMOTRACE_CSV);
    assert_eq!(talk(&read), ["我: 你好", "小明: 好的, 明天见", "小明: ", "大伟: 在群里"]);
    assert_eq!(skips(&read).len(), 1);
}

#[test]
fn chatlab_lines_are_read() {
    let lines = r##"{"_type":"header","chatlab":{"version":"0.0.2","exportedAt":1703001600},"meta":{"name":"花园","platform":"wechat","type":"group","groupId":"g1","ownerId":"ann"}}
# a note of the exporter
{"_type":"member","platformId":"theo","accountName":"小明"}
{"_type":"message","platformMessageId":"1","sender":"ann","accountName":"安","timestamp":1704448800,"type":0,"content":"一"}
{"_type":"message","sender":"theo","timestamp":1704448801,"type":3,"content":"[视频]"}
{"_type":"message","sender":"theo","timestamp":1704448802,"type":80,"content":"小明加入了群聊"}
{"_type":"message","sender":"theo","timestamp":1704448803,"type":25,"content":"收到"}
"##;
    let read = items("花园.jsonl", lines);
    assert!(matches!(&read[0], Item::Conversation(start) if start.title.as_deref() == Some("花园")));
    assert_eq!(talk(&read), ["安: 一", "小明: ", "小明: 收到"]);
    assert_eq!(messages(&read)[1].text_with_attachments(), "[video]");
    assert_eq!(messages(&read)[0].role, Role::User);
    assert_eq!(skips(&read).len(), 1);
}

#[test]
fn csv_of_both_sides_is_one_conversation() {
    let csv = "id,MsgSvrID,type_name,is_sender,talker,msg,src,CreateTime\n\
               1,88,文本,1,wxid_ann,你好,,2024-01-05 18:00:00\n\
               2,89,文本,0,wxid_theo,好的,,2024-01-05 18:01:00\n\
               3,90,系统通知,0,wxid_theo,小明撤回了一条消息,,2024-01-05 18:02:00\n";
    let read = items("小明.csv", csv);
    assert_eq!(talk(&read), ["我: 你好", "wxid_theo: 好的"]);
    let conversations = read.iter().filter(|item| matches!(item, Item::Conversation(_)));
    assert_eq!((conversations.count(), skips(&read).len()), (1, 1));
    let table = "时间,发送人,消息类型,内容\n2024-01-05 18:00:00,小明,文本,好的\n2024-01-05 18:01:00,小明,系统消息,你撤回了一条消息\n";
    let read = items("聊天.csv", table);
    assert_eq!((talk(&read), skips(&read).len()), (vec!["小明: 好的".to_owned()], 1));
}

pub(crate) const MEMOTRACE_HTML: &str = r"<!DOCTYPE html>
<html><head><title>小明</title><style>.a { color: red; }</style></head><body><script>
// The entry is a template; what precedes it does not matter.
function show(message) { if (message.is_send) { use(message.avatar_path); } }
const chatMessages = [
{ type:0, text: '2024-01-05 18:00:00',is_send:0,avatar_path:'',timestamp:1704448800},{ type:1, text: '你好 &lt;3 it\'s {me}\nok',is_send:1,avatar_path:'./a.png',timestamp:1704448800,is_chatroom:0,displayname:'安'},{ type:3, text: './image/1.jpg',is_send:0,avatar_path:'./b.png',timestamp:1704448860,is_chatroom:0,displayname:'小明'},{ type:49, text: '好的',is_send:0,sub_type:57,refer_text: '安：你好',avatar_path:'./b.png',timestamp:1704448920,is_chatroom:0,displayname:'小明'},{ type:0, text: '小明 拍了拍你',is_send:0,avatar_path:'',timestamp:1704448980,is_chatroom:0,displayname:''},
]; </script></body></html>";

#[test]
fn a_page_of_memotrace_is_read() {
    let read = items("chat.html", MEMOTRACE_HTML);
    assert!(matches!(&read[0], Item::Conversation(start) if start.title.as_deref() == Some("小明")));
    assert_eq!(talk(&read), ["安: 你好 <3 it's {me}\nok", "小明: ", "小明: 好的"]);
    assert_eq!(messages(&read)[1].text_with_attachments(), "[image: 1.jpg]");
    assert_eq!(times(&read)[0], "2024-01-05T10:00:00Z");
    assert_eq!(skips(&read).len(), 1);
    let empty = MEMOTRACE_HTML.replace("{ type:", "{ kind:");
    assert!(skips(&items("chat.html", empty))[0].reason.contains("no messages"));
}
