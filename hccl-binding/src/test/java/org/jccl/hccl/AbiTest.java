package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jccl.DataType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What is bound here against what a compiler sees in the mock's headers. Both were written from the
 * public headers, by different people, so an error would have to be made twice.
 */
final class AbiTest {

    private static Map<String, String> abi;

    @BeforeAll
    static void list() throws Exception {
        Path lister = Path.of(System.getProperty("jccl.mocks", "target/mock")).resolve("abi-hccl");
        Process process = new ProcessBuilder(lister.toString()).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).isZero();
        abi = new LinkedHashMap<>();
        for (String line : text.split("\n")) {
            String[] parts = line.split("=", 2);
            abi.put(parts[0], parts[1]);
        }
    }

    static Stream<Method> functions() {
        return Stream.of(Acl.class, Hccl.class)
                .flatMap(functions -> Arrays.stream(functions.getDeclaredMethods()))
                .filter(method -> Modifier.isNative(method.getModifiers()));
    }

    @ParameterizedTest
    @MethodSource("functions")
    void functionTakesAndAnswersWhatItsDeclarationSays(Method method) {
        String declared = abi.get("function." + method.getName());
        assertThat(declared).as(method.getName()).isNotNull();
        String parameters =
                Arrays.stream(method.getParameterTypes())
                        .map(AbiTest::kind)
                        .collect(Collectors.joining(","));
        String bound = kind(method.getReturnType()) + "(" + parameters + ")";
        assertThat(bound)
                .as("%s, declared as %s", method.getName(), abi.get("types." + method.getName()))
                .isEqualTo(declared.replaceAll("ptr|[iu]64", "64").replaceAll("[iu]32", "32"));
    }

    private static String kind(Class<?> type) {
        return type == long.class ? "64" : type == int.class ? "32" : type.getName();
    }

    @ParameterizedTest
    @CsvSource({
        "aclrtRecordEvent, 'aclrtEvent,aclrtStream'",
        "aclrtStreamWaitEvent, 'aclrtStream,aclrtEvent'",
        "HcclCreateSubCommConfig, 'HcclComm*,uint32_t,uint32_t*,uint64_t,uint32_t,HcclCommConfig*,HcclComm*'",
        "HcclReduce, 'void*,void*,uint64_t,HcclDataType,HcclReduceOp,uint32_t,HcclComm,aclrtStream'",
        "HcclBroadcast, 'void*,uint64_t,HcclDataType,uint32_t,HcclComm,aclrtStream'"
    })
    void easilySwappedArgumentsAreInOrder(String function, String parameters) {
        assertThat(abi.get("types." + function)).endsWith("(" + parameters + ")");
    }

    private static void expect(String name, long value) {
        assertThat(abi.get(name)).as(name).isEqualTo(String.valueOf(value));
    }

    @Test
    void structuresHaveTheirSizesAndOffsets() {
        expect("struct.HcclRootInfo.size", HcclConnector.ROOT_INFO_BYTES);
        expect("struct.HcclCommConfig.size", CommConfig.BYTES);
        Map<String, Integer> fields =
                Map.ofEntries(
                        Map.entry("size", CommConfig.SIZE),
                        Map.entry("magic", CommConfig.MAGIC_WORD),
                        Map.entry("version", CommConfig.VERSION),
                        Map.entry("hcclBufferSize", CommConfig.BUFFER_SIZE),
                        Map.entry("hcclDeterministic", CommConfig.DETERMINISTIC),
                        Map.entry("hcclUdi", CommConfig.UDI),
                        Map.entry("hcclOpExpansionMode", CommConfig.OP_EXPANSION_MODE),
                        Map.entry("hcclRdmaTrafficClass", CommConfig.TRAFFIC_CLASS),
                        Map.entry("hcclRdmaServiceLevel", CommConfig.SERVICE_LEVEL),
                        Map.entry("hcclExecTimeOut", CommConfig.EXEC_TIMEOUT),
                        Map.entry("hcclAlgo", CommConfig.ALGO),
                        Map.entry("hcclQos", CommConfig.QOS),
                        Map.entry("hcclSymWinMaxMemSizePerRank", CommConfig.SYM_WIN_MAX_MEM_SIZE),
                        Map.entry("hcclChannelSqDepth", CommConfig.CHANNEL_SQ_DEPTH));
        fields.forEach((field, at) -> expect("struct.HcclCommConfig." + field + ".offset", at));
        expect("struct.HcclSendRecvItem.size", HcclCalls.ITEM_BYTES);
        expect("struct.HcclSendRecvItem.buf.offset", HcclCalls.ITEM_BUFFER);
        expect("struct.HcclSendRecvItem.count.offset", HcclCalls.ITEM_COUNT);
        expect("struct.HcclSendRecvItem.dataType.offset", HcclCalls.ITEM_TYPE);
        expect("struct.HcclSendRecvItem.remoteRank.offset", HcclCalls.ITEM_PEER);
        expect("struct.aclCANNPackageVersion.size", 512);
        expect("struct.aclCANNPackageVersion.version.size", 128);
    }

    @Test
    void numbersAreTheVendors() {
        Map<DataType, String> types =
                Map.of(
                        DataType.INT8, "INT8",
                        DataType.UINT8, "UINT8",
                        DataType.INT16, "INT16",
                        DataType.INT32, "INT32",
                        DataType.INT64, "INT64",
                        DataType.FLOAT16, "FP16",
                        DataType.BFLOAT16, "BFP16",
                        DataType.FLOAT32, "FP32",
                        DataType.FLOAT64, "FP64");
        types.forEach(
                (type, name) ->
                        expect("enum.HcclDataType.HCCL_DATA_TYPE_" + name, HcclTypes.number(type)));
        expect("enum.HcclReduceOp.HCCL_REDUCE_SUM", HcclTypes.SUM);
        expect("enum.HcclReduceOp.HCCL_REDUCE_PROD", HcclTypes.PRODUCT);
        expect("enum.HcclReduceOp.HCCL_REDUCE_MAX", HcclTypes.MAX);
        expect("enum.HcclReduceOp.HCCL_REDUCE_MIN", HcclTypes.MIN);
        expect("enum.HcclResult.HCCL_E_NOT_SUPPORT", Hccl.NOT_SUPPORT);
        expect("enum.HcclResult.HCCL_E_AGAIN", HcclErrors.AGAIN);
        expect("enum.HcclResult.HCCL_E_TIMEOUT", HcclErrors.TIMEOUT);
        expect("enum.HcclResult.HCCL_E_REMOTE", HcclErrors.REMOTE);
        expect("enum.aclrtMemcpyKind.ACL_MEMCPY_HOST_TO_DEVICE", Acl.HOST_TO_DEVICE);
        expect("enum.aclrtMemcpyKind.ACL_MEMCPY_DEVICE_TO_HOST", Acl.DEVICE_TO_HOST);
        expect("enum.aclrtMemcpyKind.ACL_MEMCPY_DEVICE_TO_DEVICE", Acl.DEVICE_TO_DEVICE);
        expect("enum.aclrtMemMallocPolicy.ACL_MEM_MALLOC_HUGE_FIRST", Acl.HUGE_PAGES_FIRST);
        expect("enum.aclrtStreamStatus.ACL_STREAM_STATUS_COMPLETE", Acl.STATUS_COMPLETE);
        expect("enum.aclrtEventWaitStatus.ACL_EVENT_WAIT_STATUS_COMPLETE", Acl.STATUS_COMPLETE);
        expect(
                "enum.aclrtEventRecordedStatus.ACL_EVENT_RECORDED_STATUS_COMPLETE",
                Acl.EVENT_RECORDED_COMPLETE);
        expect("constant.ACL_EVENT_SYNC", Acl.EVENT_SYNC);
        expect("constant.ACL_EVENT_TIME_LINE", Acl.EVENT_TIME_LINE);
        expect("constant.ACL_STREAM_FAST_LAUNCH", Acl.STREAM_FAST_LAUNCH);
        expect("constant.ACL_STREAM_FAST_SYNC", Acl.STREAM_FAST_SYNC);
        expect("enum.aclError.ACL_ERROR_REPEAT_INITIALIZE", Acl.REPEATED_INITIALIZE);
        expect("enum.aclError.ACL_ERROR_API_NOT_SUPPORT", Acl.NOT_SUPPORTED);
    }
}
